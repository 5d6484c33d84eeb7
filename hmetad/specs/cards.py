"""Model cards as files.

Name of a card, or path of a TOML file → ModelSpec as written; `load_model` checks it.
"""

import tomllib
from importlib.resources import files
from pathlib import Path

from hmetad.errors import InputError, nearest
from hmetad.likelihood.registry import REGISTERED
from hmetad.specs.spec import ModelSpec, as_priors

__all__ = ["card_names", "card_path", "models_folder", "read_card"]

MAX_BYTES = 100_000
MAX_LINE = 4_000


def read_card(path: Path) -> ModelSpec:
    """Model of a card; its priors are not checked against its formulas."""
    try:
        card = tomllib.loads(card_text(path))
    except InputError:
        raise
    except RecursionError as error:
        raise InputError("file", "values nested too deeply", "a model card in TOML") from error
    except ValueError as error:
        raise InputError("file", f"no TOML ({error})", "a model card in TOML") from error
    return ModelSpec(**{"name": path.stem} | card | {"priors": as_priors(card.get("priors", {}))})


def card_text(path: Path) -> str:
    """Text of a card, if it is not too long: a long dotted key would fill the memory."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise InputError("file", f"{size} bytes", f"at most {MAX_BYTES}")
    text = path.read_text(encoding="utf-8")
    longest = max(map(len, text.splitlines()), default=0)
    if longest > MAX_LINE:
        raise InputError("file", f"a line of {longest} characters", f"at most {MAX_LINE}")
    return text


def card_names() -> list[str]:
    """Names of the package's model cards, sorted; `hmetad.load_model` takes one.

    Returns
    -------
    list of str

    Examples
    --------
    >>> card_names()[-3:]
    ['wev', 'wev_group', 'within_subject']
    """
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
    name, names = str(name_or_path), card_names()
    if name not in names:
        hint = nearest(name, names)
        if name in REGISTERED:
            hint = f"{name!r} is a likelihood: ModelSpec('mine', likelihood={name!r})."
        raise InputError("model", repr(name), "a card's name, or its path", hint)
    return models_folder() / f"{name}.toml"


def models_folder() -> Path:
    """Folder of the cards: in an installed package inside it, in a checkout beside it."""
    package = Path(str(files("hmetad")))
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"
