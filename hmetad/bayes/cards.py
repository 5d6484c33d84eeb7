"""Model cards as files.

Name of a card, or path of a TOML file → ModelSpec, as it stands there; `load_model` checks it.
"""

import tomllib
from importlib.resources import files
from pathlib import Path

from hmetad.bayes.spec import ModelSpec, as_priors, refuse_unknown_fields
from hmetad.errors import InputError, nearest

__all__ = ["card_names", "card_path", "models_folder", "read_card"]

MAX_BYTES = 1_000_000


def read_card(path: Path) -> ModelSpec:
    """Model that a card says, whose priors are not held against its formulas."""
    if path.stat().st_size > MAX_BYTES:
        raise InputError("file", f"{path.stat().st_size} bytes", f"at most {MAX_BYTES}")
    try:
        card = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise InputError("file", "values nested too deeply", "a model card in TOML") from error
    except ValueError as error:
        raise InputError("file", f"no TOML ({error})", "a model card in TOML") from error
    refuse_unknown_fields(card)
    return ModelSpec(**{"name": path.stem} | card | {"priors": as_priors(card.get("priors", {}))})


def card_names() -> list[str]:
    """Names of the package's model cards, sorted."""
    return sorted(path.stem for path in models_folder().glob("*.toml"))


def card_path(name_or_path: str | Path) -> Path:
    """File of a card, from its name or its path."""
    if not isinstance(name_or_path, str | Path):
        raise InputError("model", repr(name_or_path), "a card's name, or its path")
    path = Path(name_or_path)
    if path.suffix == ".toml":
        if path.is_file():
            return path
        raise InputError("model", f"{str(path)!r}, which is no file", "a card's name, or its path")
    names = card_names()
    if str(name_or_path) not in names:
        hint = nearest(str(name_or_path), names)
        raise InputError("model", repr(str(name_or_path)), "a card's name, or its path", hint)
    return models_folder() / f"{name_or_path}.toml"


def models_folder() -> Path:
    """Folder of the cards: in an installed package inside it, in a checkout beside it."""
    package = Path(str(files("hmetad")))
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"
