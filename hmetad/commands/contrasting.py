"""Draws to judge: contrasts of cells, or a quantity itself.

Fits and options → draws (chain, draw, pair or cell).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.arguments import options_named, parse_level, sampling_options
from hmetad.commands.draws import are_resampled
from hmetad.commands.fits import levels_of
from hmetad.commands.options import Kind, PoolWeights
from hmetad.errors import InputError, nearest
from hmetad.results import results

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.compare.decisions import Decisions

__all__ = [
    "Question",
    "asked_draws",
    "decided_otherwise",
    "drawn_from",
    "needs_over",
    "one_or_all",
    "ranks_of",
    "read_weights",
]

type Fits = Mapping[str, "xr.DataTree"]


@dataclass(frozen=True)
class Question:
    """What is compared, as the options say it.

    Parameters
    ----------
    var : str
        Quantity.
    over : str or None
        Coordinate whose levels are compared; without it the quantity is judged as it is.
    within : list of str
        Coordinates to hold equal.
    against : str or None
        Level to compare the others with.
    weights : DataFrame or None
        Contrasts of one's own, as `read_weights` gives them.
    kind : {"difference", "log_ratio", "superiority"}
    pool : list of str
        Coordinates to pool over.
    pool_weights : {"equal", "trials"}
        What a pooled level weighs.
    is_population : bool
        Whether conditions of the population are compared, in the place of cells.
    new : list of str
        Columns with a level that nobody has seen yet, for which a fit of estimates predicts.
    without : list of str
        Levels of `over` that are left out.
    """

    var: str
    over: str | None
    within: list[str]
    against: str | None
    weights: "pd.DataFrame | None"
    kind: Kind
    pool: list[str] = field(default_factory=list)
    pool_weights: PoolWeights = "equal"
    is_population: bool = False
    new: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def asked_draws(sources: Mapping[str, Any], fits: Fits, asked: Question) -> "xr.DataArray":
    """Draws of the contrasts asked for, of `drawn_from`; without `over` the quantity itself."""
    if asked.over is None:
        return as_it_is(sources, asked.var)
    levels = levels_of(fits, asked.over)
    try:
        return hmetad.contrast(
            one_or_all(sources),
            var=asked.var,
            over=asked.over,
            within=asked.within,
            against=parse_level(levels, asked.over, asked.against),
            matrix=None if asked.weights is None else asked.weights.rename(columns=levels),
            kind=asked.kind,
            pool=asked.pool,
            weights=asked.pool_weights,
            independent=len(fits) > 1,
        )
    except InputError as error:
        if error.argument != "over and within":
            raise
        step = shared_cells_step(fits, asked) or error.next_step
        raise InputError("--over and --within", error.got, error.allowed, step) from error


def shared_cells_step(fits: Fits, asked: Question) -> str:
    """What to do where several cells have the same levels of what is compared."""
    columns = next(iter(fits.values()))["posterior"]["cell"].coords
    named = {"cell", asked.over, *asked.within, *asked.pool}
    rest = ",".join(str(name) for name in columns if name not in named)
    if not rest:
        return ""
    step = f"Compare within each: --within {rest}; or over all: --pool {rest}."
    if not effects_of(fits, asked.var, str(asked.over)):
        return step
    return f"{step} Conditions of the population are compared by --population."


def drawn_from(fits: Fits, asked: Question) -> dict[str, Any]:
    """Draws that are compared: those of the fits, of their populations, or of a measure."""
    return {name: source_of(fit, asked) for name, fit in fits.items()}


def source_of(fit: "xr.DataTree", asked: Question) -> Any:
    """Draws of one fit that are compared, without the levels that are left out."""
    source = whole_source_of(fit, asked)
    if not asked.without:
        return source
    over, known = str(asked.over), levels_of({"": fit}, str(asked.over))
    left_out = [known.get(level, level) for level in asked.without]
    with options_named({"levels": "--without", "over": "--over"}):
        return hmetad.compare.leave_out(source, over, left_out)


def whole_source_of(fit: "xr.DataTree", asked: Question) -> Any:
    """Draws of one fit: its own, of its population, or of a measure that its model predicts."""
    if are_resampled(fit):
        if "formula" in fit.attrs:
            is_predicted = asked.is_population or bool(asked.new)
            return hmetad.bayes.predict_estimates(fit, new=asked.new) if is_predicted else fit
        if asked.new:
            step = "Model them first: hmetad estimates draws.nc --formula …"
            raise InputError("--new", "draws without a model", "a fit of estimates", step)
        if asked.is_population:
            raise InputError("--population", "draws without a model", "a fit")
        return fit
    if asked.new:
        step = "Conditions of its population are compared by --population."
        raise InputError("--new", "a fit of counts", "a fit of estimates", step)
    is_own = asked.var in fit["posterior"]
    results = hmetad.bayes.spec_of(fit).record.results
    if not is_own and not asked.is_population and asked.var in results:
        # A fit of very many cells keeps none of them.
        return hmetad.bayes.predict_levels(fit)
    is_measure = not is_own and is_predictable(asked.var)
    if is_measure:
        return hmetad.bayes.predict_measures(fit, asked.var, group_terms=not asked.is_population)
    return hmetad.predict(fit) if asked.is_population else fit


def is_predictable(var: str) -> bool:
    """Whether a name is that of a measure of counts."""
    return any(x.measured and x.name == var for x in results())


def effects_of(fits: Fits, var: str, over: str) -> list[str]:
    """Coefficients of a quantity that belong to a column alone, in all fits."""
    names = [f"{var}_{over}", f"{var}_S({over})", f"{var}_C({over})"]
    return [name for name in names if all(name in fit["posterior"] for fit in fits.values())]


def ranks_of(sources: Mapping[str, Any], asked: Question, ci_prob: float) -> "xr.Dataset":
    """Posterior of the ranks of the levels, of `drawn_from`."""
    return hmetad.rank(
        one_or_all(sources),
        var=asked.var,
        over=str(asked.over),
        within=asked.within,
        ci_prob=ci_prob,
        pool=asked.pool,
        weights=asked.pool_weights,
        independent=len(sources) > 1,
    )


def decided_otherwise(
    fits: Fits, asked: Question, decisions: "Decisions"
) -> "dict[str, Decisions]":
    """Decisions on refitted models, by the choice that differs."""
    again = {name: hmetad.sensitivity(fit, **sampling_options()) for name, fit in fits.items()}
    first = next(iter(again.values()))
    shared = [choice for choice in first if all(choice in found for found in again.values())]
    others = {
        choice: one_or_all({name: source_of(found[choice], asked) for name, found in again.items()})
        for choice in shared
    }
    return hmetad.compare.repeat_decisions(decisions, others)


def one_or_all(fits: Fits) -> Any:
    """The fit where there is one, else all by name."""
    return next(iter(fits.values())) if len(fits) == 1 else fits


def as_it_is(sources: Mapping[str, Any], var: str) -> "xr.DataArray":
    """Draws of a quantity of one fit, a number for each cell or level."""
    if len(sources) > 1:
        step = "Write --over fit to compare the fits with one another."
        raise InputError("--over", "nothing, with several fits", "a coordinate", step)
    source = one_or_all(sources)
    posterior = source["posterior"].to_dataset() if "posterior" in source else source
    if var not in posterior:
        step = nearest(var, map(str, posterior))
        raise InputError("--var", repr(var), "a quantity of the fit", step)
    places = [str(dim) for dim in posterior[var].dims if dim not in ("chain", "draw")]
    if len(places) > 1:
        step = f"Compare levels of one of them: --over {places[-1]}."
        raise InputError("--var", f"{var} by {', '.join(places)}", "one number a place", step)
    return posterior[var]


def read_weights(path: Path) -> "pd.DataFrame":
    """Weights of contrasts: names in the first column, a level of `over` in each other."""
    table = hmetad.logs.read_table(path)
    if table.shape[1] < 3:
        got = f"{table.shape[1]} columns in {str(path)!r}"
        step = "Write a row per contrast, its name first, then a column per level."
        raise InputError("--matrix", got, "names of contrasts and two levels or more", step)
    named = table.set_index(table.columns[0])
    return named.set_axis(named.index.astype(str)).fillna(0)


def needs_over(over: str | None, kind: Kind, **options: object) -> None:
    """Refuse options about levels where no coordinate is named."""
    asked = {**options, "kind": kind if kind != "difference" else None}
    for name, value in asked.items():
        if over is None and value:
            step = f"Add --over, or leave --{name} out."
            raise InputError("--over", f"nothing, with --{name}", "a coordinate of cells", step)
