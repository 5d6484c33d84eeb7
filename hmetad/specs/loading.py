"""Model cards as files: find one, read it, change it and check it.

Name of a card, or path of a TOML file → ModelSpec whose priors are those of its own variables.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from hmetad.arguments import check_inputs
from hmetad.errors import InputError, nearest
from hmetad.likelihood.registry import REGISTERED
from hmetad.specs.formula import prior_names
from hmetad.specs.spec import (
    ModelSpec,
    as_priors,
    free_variables,
    refuse_unknown_priors,
    with_changes,
)

__all__ = ["as_model", "card_names", "load_model", "models_folder", "names_with_prior"]

MAX_BYTES = 100_000
MAX_LINE = 4_000


@check_inputs(skip=("name_or_path",))
def load_model(name_or_path: str | Path, **changes: Any) -> ModelSpec:
    """Read a model card.

    Parameters
    ----------
    name_or_path : str or Path
        A card of the package (`hmetad models` lists them), or the path of a TOML file.
    **changes
        Fields of the card to replace, such as ``meta_criterion="absolute"``; `formula`
        and `priors` are merged into the card's.

    Returns
    -------
    ModelSpec

    Raises
    ------
    InputError
        If there is no such card, or its model is not legal: a formula that cannot be read,
        or a prior of a variable that the model lacks whatever the columns of the cells.

    Examples
    --------
    >>> load_model("individual").choices["meta_criterion"]
    'relative'
    >>> load_model("hmetad_single", type1="plug_in").parameters
    ('meta_d', 'criteria')
    >>> load_model("group", formula={"log_m": "1 + age + (1 | subject)"}).formula["dprime"]
    '1 + (1|subject)'
    """
    path = card_path(name_or_path)
    try:
        spec = read_card(path)
        refuse_unknown_priors(spec, names_with_prior(spec))
        refuse_unknown_names(spec)
    except InputError as error:
        argument = f"model {path.stem!r}, {error.argument}"
        raise InputError(argument, error.got, error.allowed, error.next_step) from error
    if not changes:
        return spec
    changed = with_changes(spec, **changes)
    refuse_unknown_priors(changed, names_with_prior(changed))
    if "names" in changes:
        refuse_unknown_names(changed)
    return changed


def as_model(model: str | Path | ModelSpec) -> ModelSpec:
    """The model itself, or that of a card, by its name or path."""
    return model if isinstance(model, ModelSpec) else load_model(model)


def names_with_prior(spec: ModelSpec) -> list[str]:
    """Variables of the posterior that can take a prior, as far as they are known without cells."""
    return list(map(spec.named, variables_with_prior(spec)))


def variables_with_prior(spec: ModelSpec) -> list[str]:
    """The same, before any is renamed."""
    names = [
        prior_names(parameter, formula, may_correlate=not spec.extra_dims(parameter))
        for parameter, formula in spec.formula.items()
    ]
    return [*(name for own in names for name in own), *free_variables(spec)]


def refuse_unknown_names(spec: ModelSpec) -> None:
    """Raise where a model renames a variable that it lacks."""
    own = variables_with_prior(spec)
    effects = [name.removesuffix("_sigma") for name in own if "|" in name]
    legal = list(dict.fromkeys([*spec.parameters, *own, *effects]))
    for name in spec.names:
        if name not in legal:
            raise InputError("names", repr(name), ", ".join(legal), nearest(name, legal))
    given = [*spec.names.values(), *(name for name in legal if name not in spec.names)]
    for name in spec.names.values():
        if given.count(name) > 1:
            raise InputError("names", f"{name!r} for two variables", "names of their own")


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
