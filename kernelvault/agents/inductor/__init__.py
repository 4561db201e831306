"""The Inductor agent: Triton candidates after PyTorch's own compiler, written with no GPU.

`agent.InductorAgent` is the agent; `writer` runs in a sandbox of its own and holds all that needs
torch. This file stays empty of imports, so that the writer starts without the rest of the library.
"""
