"""Runs in a sandbox: from an operator graph to self-contained Triton modules, through Inductor."""
