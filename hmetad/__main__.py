"""The command line as ``python -m hmetad``."""

from hmetad.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
