"""A model whose cells of a person differ in difficulty alone.

ModelSpec, count table and names of columns → ModelSpec with other formulas.
"""

from dataclasses import replace

import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, TooFewError, UnknownError, nearest
from hmetad.specs.design import cell_table, refuse_other_tables
from hmetad.specs.formula import quote
from hmetad.specs.loading import as_model
from hmetad.specs.spec import ModelSpec

__all__ = ["by_difficulty"]


@check_inputs(skip=("counts",))
def by_difficulty(
    model: str | ModelSpec,
    counts: xr.DataArray,
    *,
    subject: str = "subject",
    difficulty: str | None = "difficulty",
    pooled: bool = True,
) -> ModelSpec:
    """Formulas by which d′ alone changes with difficulty, and a person keeps all else.

    A person does not know how difficult the next stimulus is, so that one criterion of the
    response, one set of type-2 criteria and one process of confidence serve all difficulties.

    Parameters
    ----------
    model : str or ModelSpec
        Name or path of a card, or what `load_model` returned; its own formulas are replaced.
    counts : DataArray
        Count table, with the columns below as coordinates of its cells.
    subject : str, optional
        Column of the people.
    difficulty : str or None, optional
        Column of the difficulties, whose values are taken as levels. None where there is one.
    pooled : bool, optional
        True: people are drawn from a population, for `fit`. False: each has values of its own, for
        `fit_mle`, or for `fit` without a population.

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
        if name not in cells:
            names = list(map(str, cells))
            allowed = ", ".join(names) or "a column that was counted by"
            raise UnknownError(argument, repr(name), allowed, nearest(name, names))
    if difficulty is not None and cells[difficulty].nunique() < 2:
        got, step = f"{difficulty!r} with one value", "Give difficulty=None."
        raise TooFewError("difficulty", got, "two difficulties or more", step)
    if cells.duplicated([*columns.values()]).any():
        got = f"several cells with the same {' and '.join(columns.values())}"
        step = "Take one task or condition at a time: counts.sel(...)."
        raise ChoiceError("counts", got, "one cell for each", step)
    level, group = None if difficulty is None else quote(difficulty), quote(subject)
    names = [p.name for p in spec.record.parameters if p.has_formula]
    has_people, formula = cells[subject].nunique() > 1, dict[str, str]()
    if pooled and has_people:
        formula = dict.fromkeys(names, f"1 + (1 | {group})")
        if level:
            formula["dprime"] = f"0 + {level} + (0 + {level} || {group})"
    elif level:
        own = f"0 + {group}" if has_people else "1"
        # d′ has no formula: every cell has its own.
        formula = {name: own for name in names if name != "dprime"}
    priors = {name: prior for name, prior in spec.priors.items() if name in spec.parameters}
    bare = replace(spec, formula={}, priors={} if formula else priors)
    return replace(bare, formula=formula, factors=tuple(columns.values()))
