"""The Triton toolchain: compiles what a candidate launches, for AMD targets, with no GPU."""
