"""`python -m kernelvault.cli`."""

from kernelvault.cli.main import main

if __name__ == "__main__":
    main()
