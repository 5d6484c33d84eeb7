"""Public names of a package, each imported when it is first used.

The package's stub (``__init__.pyi``), which type checkers read too → its names, and what finds
them. A line of a stub is ``from hmetad.bayes.fit import fit as fit``.
"""

import sys

# The modules typing, pathlib and ast take longer to import than all that is done here.
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from types import ModuleType


def attach(package: str, file: str) -> tuple[list[str], object, object]:
    """Public names of a package, its ``__getattr__`` and its ``__dir__``.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of the package.

    Returns
    -------
    tuple
        For ``__all__``, which leaves modules out, ``__getattr__`` and ``__dir__``.
    """
    homes = homes_in(f"{file}i")

    def get(name: str) -> object:
        """Bring in a public name when it is first used."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name]), name)
        vars(import_module(package))[name] = value
        return value

    names = sorted(name for name, home in homes.items() if home != package)
    return names, get, lambda: sorted(homes)


def homes_in(stub: str) -> dict[str, str]:
    """Module that each name of a stub comes from."""
    with open(stub, encoding="utf-8") as file:
        statements = file.read().split("\nfrom ")[1:]
    homes: dict[str, str] = {}
    for statement in statements:
        home, _, names = statement.partition(" import ")
        words = names.replace("(", " ").replace(")", " ").replace(",", " ").split()
        homes |= {words[i + 1]: home for i, word in enumerate(words) if word == "as"}
    return homes


def import_on_call(module: str, name: str) -> Callable[..., object]:
    """Function of a module that is imported when it is first called, since it takes long.

    Examples
    --------
    >>> import_on_call("math", "sqrt")(4)
    2.0
    """

    def function(*args: object, **kwargs: object) -> object:
        """Call it."""
        return attrgetter(name)(import_module(module))(*args, **kwargs)

    return function


class Postponed(ModuleType):
    """Stands for a module, which is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> object:
        """Return a name of the module."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def postpone(*names: str) -> None:
    """Import modules only when one of their names is first used.

    For a process that may end before it needs them. Modules that are to be imported without them
    begin with ``from __future__ import annotations``, so that annotations do not use the names.
    """
    for name in names:
        sys.modules.setdefault(name, Postponed(name))


def import_without(name: str, other: str) -> ModuleType:
    """Import a module, but not yet another one that it imports as a whole.

    Parameters
    ----------
    name, other : str
        Modules. ``other`` is imported when the first one uses it.

    Returns
    -------
    module
    """
    postpone(other)
    module = import_module(name)
    if isinstance(sys.modules[other], Postponed):
        del sys.modules[other]
    return module
