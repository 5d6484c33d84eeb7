"""Every public name, as a user writes it after `hmetad.`, and where it comes from."""

from operator import attrgetter
from pathlib import Path

import hmetad
from hmetad.base.lazy import homes_in

__all__ = ["PUBLIC_NAMES", "named"]

PACKAGE = Path(hmetad.__file__).parent
STUBS = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__"): path
    for path in sorted(PACKAGE.rglob("*.pyi"))
}
# "measures.auroc2" → "hmetad.measures.type2"; modules are left out.
PUBLIC_NAMES = {
    f"{module}{'.' if module and not module.endswith('.') else ''}{name}": home
    for module, stub in STUBS.items()
    for name, home in homes_in(str(stub)).items()
    if home != "hmetad"
}


def named(name):
    """What a public name stands for."""
    return attrgetter(name)(hmetad)
