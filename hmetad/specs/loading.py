"""Model cards as files: find one, read it, change it and check it.

Name of a card, or path of a TOML file → ModelSpec whose priors belong to its own variables; with a
count table → the model that fits it, or the one whose cells differ in difficulty alone.
"""

import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import (
    CardError,
    ChoiceError,
    InputError,
    RepeatError,
    TooFewError,
    TooManyError,
    UnknownError,
    nearest,
)
from hmetad.likelihood.registry import REGISTERED
from hmetad.specs.design import cell_table, refuse_other_tables, refuse_unknown_column
from hmetad.specs.formula import quote
from hmetad.specs.spec import (
    ModelSpec,
    as_priors,
    refuse_unknown_priors,
    variables_with_prior,
    with_changes,
)

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
        card = {"name": path.stem} | read_toml(path, "file", "a model card in TOML")
        spec = ModelSpec(**card | {"priors": as_priors(card.get("priors", {}))})
        refuse_unknown_priors(spec, names_with_prior(spec))
        refuse_unknown_names(spec)
    except InputError as error:
        argument = f"model {path.stem!r}, {error.argument}"
        steps = error.next_step, error.shell_step
        raise CardError(argument, error.got, error.allowed, *steps) from error
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


@check_inputs(skip=("counts",))
def by_difficulty(
    model: str | ModelSpec,
    counts: xr.DataArray,
    *,
    subject: str = "subject",
    difficulty: str | None = "difficulty",
    pooled: bool = True,
) -> ModelSpec:
    """Formulas by which d′ alone changes with difficulty, and a participant keeps all else.

    A participant does not know how difficult the next stimulus is, so that one criterion of the
    response, one set of type-2 criteria and one process of confidence serve all difficulties.

    Parameters
    ----------
    model : str or ModelSpec
        Name or path of a card, or what `load_model` returned; its own formulas are replaced.
    counts : DataArray
        Count table, with the columns below as coordinates of its cells.
    subject : str, optional
        Column of the participants.
    difficulty : str or None, optional
        Column of the difficulties, whose values are taken as levels. None where there is one.
    pooled : bool, optional
        True: participants are drawn from a population, for `fit`. False: each has values of its
        own, for `fit_mle`, or for `fit` without a population.

    Returns
    -------
    ModelSpec

    Raises
    ------
    InputError
        If a column is not among the coordinates of the cells, or has one value.

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> coords = {"subject": ["1", "1", "2", "2"], "level": ["easy", "hard"] * 2}
    >>> counts = simulate_counts([2.0, 1.0, 1.8, 0.9], coords=coords, seed=1)
    >>> model = by_difficulty("wev", counts, difficulty="level")
    >>> model.formula["dprime"], model.formula["log_noise"]
    ('0 + level + (0 + level || subject)', '1 + (1 | subject)')
    >>> by_difficulty("wev", counts, difficulty="level", pooled=False).formula["log_noise"]
    '0 + subject'
    """
    spec = as_model(model)
    refuse_other_tables(counts, spec.record.layout)
    cells = cell_table(counts)
    columns = {"subject": subject} | ({} if difficulty is None else {"difficulty": difficulty})
    for argument, name in columns.items():
        refuse_unknown_column(argument, name, cells)
    if difficulty is not None and cells[difficulty].nunique() < 2:
        steps = "Give difficulty=None.", "Omit --difficulty."
        raise TooFewError("difficulty", f"{difficulty!r} with one value", "two or more", *steps)
    shown = (counts.sum(["response", "rating"]) > 0).transpose("cell", "stimulus").to_numpy()
    if difficulty is not None and not (shown.sum(axis=1) > 1).any():
        got = f"{difficulty!r}, of which each value has one stimulus"
        step = "Use its magnitude, without the side or sign of the stimulus."
        raise ChoiceError("difficulty", got, "levels that both stimuli have", step)
    if cells.duplicated([*columns.values()]).any():
        got = f"several cells with the same {' and '.join(columns.values())}"
        step = "Take one task or condition at a time: "
        steps = (f"{step}counts.sel(...).", f"{step}omit the other rows of the file.")
        raise ChoiceError("counts", got, "one cell for each", *steps)
    level, group = None if difficulty is None else quote(difficulty), quote(subject)
    names, formula = spec.formula_parameters, dict[str, str]()
    has_people = cells[subject].nunique() > 1
    if pooled and has_people:
        formula = dict.fromkeys(names, f"1 + (1 | {group})")
        if level:
            formula["dprime"] = f"0 + {level} + (0 + {level} || {group})"
    elif level:
        own = f"0 + {group}" if has_people else "1"
        # d′ has no formula: every cell has its own.
        formula = {name: own for name in names if name != "dprime"}
    priors = {name: prior for name, prior in spec.priors.items() if name in spec.parameters}
    bare = replace(spec, formula={}, between=(), priors={} if formula else priors)
    return replace(bare, formula=formula, factors=tuple(columns.values()))


@check_inputs(skip=("counts",))
def model_of(counts: xr.DataArray, model: str | Path | ModelSpec | None) -> ModelSpec:
    """Model that `hmetad.fit` takes for a table.

    Parameters
    ----------
    counts : DataArray
        Count table of two or more options, or of correct and incorrect.
    model : str, Path, ModelSpec or None
        Name or path of a card, or what `load_model` returned. None is the default: ``"individual"``
        of two stimuli, ``"alternatives_biased"`` of more, ``"alternatives"`` of correct and
        incorrect.

    Returns
    -------
    ModelSpec
        With as many options as the table has stimuli, where the likelihood has that choice.

    Examples
    --------
    >>> import numpy as np
    >>> table = xr.DataArray(np.ones((1, 5, 5, 4)), dims=("cell", "stimulus", "response", "rating"))
    >>> found = model_of(table, None)
    >>> found.name, found.choices["options"]
    ('alternatives_biased', '5')
    """
    is_pair = not isinstance(counts, xr.DataArray) or counts.sizes.get("stimulus", 2) == 2
    if model is None:
        is_right = isinstance(counts, xr.DataArray) and "correct" in counts.dims
        default = "individual" if is_pair else "alternatives_biased"
        model = "alternatives" if is_right else default
    spec = as_model(model)
    number = "2" if is_pair else str(counts.sizes["stimulus"])
    if spec.choices.get("options", number) == number or "stimulus" not in counts.dims:
        return spec
    return with_changes(spec, options=number)


def names_with_prior(spec: ModelSpec) -> list[str]:
    """Variables of the posterior that can take a prior, as far as they are known without cells."""
    return list(map(spec.named, variables_with_prior(spec)))


def refuse_unknown_names(spec: ModelSpec) -> None:
    """Raise where a model renames a variable that it lacks."""
    own = variables_with_prior(spec)
    effects = [one.stem for one in own.values() if one.role == "sd"]
    legal = list(dict.fromkeys([*spec.parameters, *own, *effects]))
    for name in spec.names:
        if name not in legal:
            raise UnknownError("names", repr(name), ", ".join(legal), nearest(name, legal))
    given = [*spec.names.values(), *(name for name in legal if name not in spec.names)]
    for name in spec.names.values():
        if given.count(name) > 1:
            raise RepeatError("names", f"{name!r} for two variables", "names of their own")


def read_toml(path: Path, argument: str, allowed: str) -> dict[str, Any]:
    """Content of a file from a stranger, in TOML; errors name the argument that it came by."""
    # A long dotted key would fill the memory.
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise TooManyError(argument, f"{size} bytes", f"at most {MAX_BYTES}")
    try:
        text = path.read_text(encoding="utf-8")
        longest = max(map(len, text.splitlines()), default=0)
        if longest > MAX_LINE:
            got = f"a line of {longest} characters"
            raise TooManyError(argument, got, f"at most {MAX_LINE}")
        return tomllib.loads(text)
    except InputError:
        raise
    except (RecursionError, ValueError) as error:
        is_deep = isinstance(error, RecursionError)
        got = "values nested too deeply" if is_deep else f"no TOML ({error})"
        raise ChoiceError(argument, got, allowed) from error


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
    names = card_names()
    if isinstance(name_or_path, str) and name_or_path in names:
        return models_folder() / f"{name_or_path}.toml"
    if not isinstance(name_or_path, str | Path):
        raise ChoiceError("model", repr(name_or_path), "a card's name, or its path")
    path, name, hint = Path(name_or_path), str(name_or_path), ""
    got = repr(name)
    if path.suffix == ".toml":
        if path.is_file():
            return path
        got = f"{got}, which is no file"
    else:
        hint = nearest(name, names)
        if name in REGISTERED:
            hint = f"{name!r} is a likelihood: write a card that has likelihood = {name!r}."
    raise UnknownError("model", got, "a card's name, or its path", hint)


def models_folder() -> Path:
    """Folder of the cards: in an installed package inside it, in a checkout beside it."""
    package = Path(str(files("hmetad")))
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"
