"""The command line as ``hmetad`` and ``python -m hmetad``."""

from importlib import import_module

from hmetad.base.process import begin_command


def main() -> None:
    """Run the command line; an interrupt is met before its libraries are imported."""
    begin_command()
    import_module("hmetad.cli").main()


if __name__ == "__main__":
    main()
