"""Factors whose levels many observers share, such as items: which one a fit integrates out.

Count table and ModelSpec → Crossing, or None; a Crossing → the table of observers, the model of it,
and what each observer answered to each level. A factor is integrated out if its levels have an
intercept in d′ and one in where confidence is placed, or one in the shift of the evidence, crossed
with observers or nested in them.
With an intercept in d′ alone, it is integrated out if its levels are crossed with the observers and
have few answers each. Others are sampled.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import DamagedError, TooFewError, TooManyError
from hmetad.base.notice import Notice, notice_of
from hmetad.counts.resample import counts_together
from hmetad.likelihood.crossed import Answers, CrossedLikelihood, Grid
from hmetad.likelihood.tape import column_shapes, column_slices, kernel_of
from hmetad.specs.design import cell_table, group_labels
from hmetad.specs.formula import bracket, parse_formula
from hmetad.specs.spec import OF_ITEMS, SHIFT, SPREAD, ModelSpec

type Floats = NDArray[np.float64]

# Group of a fit with what observers answered to each level.
ANSWERS = "crossed_answers"
# Parameters on which a level may have an effect, in this order.
EFFECTS = ("dprime", *OF_ITEMS)
# Nodes of each effect for so many answers a level, and how far they reach.
NODES = ((5, (21, 21)), (20, (33, 25)), (100, (41, 33)), (math.inf, (65, 49)))
REACH = 4.5
# The same of an effect alone, at least: its nodes cost little.
OF_ONE = 41, 5.5
# Nodes of each effect for single trials, whose probabilities are smooth in the effects.
OF_TRIALS = 17
# Observers of a level from which loadings are identified: three covariances give three.
LEAST_OBSERVERS = 3
# Standard errors by which loadings have to predict better.
CLEAR = 2.0
# Of more answers a level, one effect is sampled in less time.
MOST_ANSWERS = 200
# Nodes of all observers, whose outcomes and slopes take a gigabyte.
MOST_NODES = 500_000
# Nodes are enough if twice as many move no value by more than so many standard deviations.
ENOUGH, FINENESS = 0.25, (1, 2, 4, 8)


@dataclass(frozen=True)
class Crossing:
    """A factor that is integrated out, and what observers answered to its levels.

    Parameters
    ----------
    factor : str
        Name of the factor.
    parameters : tuple of str
        One or both of ``"dprime"`` and ``"log_spread"``; or ``"item_shift"``.
    levels : array of str, shape (levels,)
    answers : Answers
        Of observers, the cells of `counts`.
    counts : DataArray
        Count table of the observers.
    spec : ModelSpec
        Model of them, without the factor.
    formula : mapping of str to str
        Formulas with the factor.
    has_loadings : bool, optional
        Whether each observer follows the effects by loadings, whose logarithms have a mean of 0.
    fineness : int, optional
        How many times as many nodes of each effect there are as the number of answers suggests.
    """

    factor: str
    parameters: tuple[str, ...]
    levels: NDArray[np.str_]
    answers: Answers
    counts: xr.DataArray
    spec: ModelSpec
    formula: Mapping[str, str]
    has_loadings: bool = False
    fineness: int = 1

    @property
    def integrated(self) -> tuple[str, tuple[str, ...], bool]:
        """Factor, parameters and loadings, as `hmetad.specs.layout.layout_of` takes them."""
        return self.factor, self.parameters, self.has_loadings

    @property
    def of_sds(self) -> tuple[str, ...]:
        """Parameters of which the standard deviation of the effects is estimated; others have 1."""
        return tuple(name for name in self.parameters if name != SHIFT)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Levels and observers who answered to them, (2, pairs)."""
        level = np.repeat(np.arange(len(self.levels)), np.diff(self.answers.first))
        observer = self.answers.rows // int(np.prod(self.counts.shape[1:]))
        return np.unique(np.stack([level, observer]), axis=1)

    @property
    def may_have_loadings(self) -> bool:
        """Whether enough observers answered to the same levels: two give one covariance alone.

        What is marginal over items rests on one standard deviation of all observers.
        """
        return SHIFT not in self.parameters and bool(
            np.median(np.bincount(self.pairs[0])) >= LEAST_OBSERVERS
        )

    def likelihood(
        self, given: Mapping[str, Floats], *, of_trials: bool = False
    ) -> CrossedLikelihood:
        """Likelihood of the levels, for a thread, with quantities of observers that are given.

        `of_trials` is for probabilities of single trials, which need fewer nodes.
        """
        family, ratings = self.spec.record, self.counts.sizes["rating"]
        is_tabled = family.compiled_kernel == "alternatives" and family.chosen["noise"] == "normal"
        options = given["options"].astype(np.int64) if is_tabled else None
        places = column_slices(column_shapes(family, ratings))
        own = [places["log_gap" if name == SPREAD else name] for name in self.parameters]
        targets = [np.arange(place.start, place.stop) for place in own]
        grid = self.grid(of_trials=of_trials)
        return CrossedLikelihood(family, ratings, targets, self.answers, grid, options)

    def grid(self, *, of_trials: bool) -> Grid:
        """Nodes for the levels' posteriors, which are narrower with more answers a level."""
        answers = self.answers.numbers.sum() / len(self.levels)
        widths, reach = next(widths for most, widths in NODES if answers <= most), REACH
        if of_trials:
            widths = OF_TRIALS, OF_TRIALS
        elif len(self.parameters) == 1:
            widths, reach = (max(widths[0], OF_ONE[0]), 1), OF_ONE[1]
        numbers = [(width - 1) * self.fineness + 1 for width in widths]
        first, second = (np.linspace(-reach, reach, number) for number in numbers)
        return Grid(first, second if len(self.parameters) > 1 else np.zeros(1))

    @property
    def nodes(self) -> int:
        """Number of nodes of all observers."""
        return len(self.counts) * len(self.grid(of_trials=False).nodes)

    @property
    def finer(self) -> "Crossing | None":
        """The same with nodes twice as dense; None if these would be too many."""
        found = replace(self, fineness=2 * self.fineness)
        return found if found.nodes <= MOST_NODES and found.fineness in FINENESS else None


@dataclass(frozen=True)
class Comparison:
    """Expected log predictive densities of levels without and with loadings, as attrs have them.

    Parameters
    ----------
    elpd_equal, elpd_loadings : float
        Sums over the levels, each left out of the data.
    elpd_difference, elpd_difference_se : float
        The second less the first, and its standard error over the levels.
    """

    elpd_equal: float
    elpd_loadings: float
    elpd_difference: float
    elpd_difference_se: float

    @classmethod
    def of(cls, without: Floats, with_loadings: Floats) -> "Comparison":
        """The same by level, (levels,)."""
        each = with_loadings - without
        se = float(np.sqrt(len(each) * each.var()))
        return cls(float(without.sum()), float(with_loadings.sum()), float(each.sum()), se)

    @property
    def is_clear(self) -> bool:
        """Whether loadings predict clearly better."""
        return self.elpd_difference > CLEAR * self.elpd_difference_se

    def notices(self, spec: ModelSpec) -> list[Notice]:
        """Notice of what the data say of loadings, where they or the model decide for a side."""
        if spec.loadings and not self.is_clear:
            return []
        without = "loadings.better" if self.is_clear else "loadings.equal"
        size = f"{self.elpd_difference:.1f} ± {self.elpd_difference_se:.1f}"
        return [notice_of("loadings.chosen" if spec.loadings else without, difference=size)]


def elpd_of_levels(log_likelihood: Floats, scores: Floats, factor: Floats) -> Floats:
    """Log predictive density of each level left out of the data, to first order, (levels,).

    At a maximum with log likelihoods (levels,), their slopes by coefficients (coefficients,
    levels), and the inverse of the curvature, factor @ factor.T. Without a level the maximum moves
    by that times its slopes. Source: Giordano et al. (2019), the infinitesimal jackknife.
    """
    return log_likelihood - ((scores.T @ factor) ** 2).sum(axis=1)


def inverse_root(curvature: Floats, least: float) -> Floats:
    """Factor of the inverse of a curvature, which is at least so large in any direction."""
    values, vectors = np.linalg.eigh(curvature)
    return np.asarray(vectors / np.sqrt(np.maximum(values, least)))


def crossing_of(counts: xr.DataArray, spec: ModelSpec) -> Crossing | None:
    """The factor of a model that is integrated out, if there is one in these cells.

    Raises
    ------
    InputError
        If there is one answer to each of its levels, or observers have too many cells.
    """
    cells, family = cell_table(counts), spec.record
    is_compiled = family.compiled_kernel and hasattr(kernel_of(family), "log_outcomes")
    # What has no formula has a value in every cell, whose levels then share more than effects.
    if not is_compiled or not {*spec.parameters} <= {*spec.formula}:
        return None
    for factor, parameters in intercepts_alone(spec).items():
        parts = factor.split(":")
        if not {*parts} <= {*cells.columns} or len(cells[parts].drop_duplicates()) < 2:
            continue
        model = without_factor(spec, factor)
        own = [parse_formula(formula) for formula in model.formula.values()]
        grouping = [g for one in own for g in one.group_terms]
        named = {name for one in own for name in one.common.columns}
        named |= {name for g in grouping for name in g.expression.columns}
        named |= {name for g in grouping for columns in g.factors for name in columns}
        # Columns that are not there are refused where formulas are read.
        if not named <= {*cells.columns}:
            continue
        named |= {"options"} & {*cells.columns}
        pooled, observer = counts_together(counts, sorted(named))
        labels, level = np.unique(group_labels(cells, parts), return_inverse=True)
        answers = answers_of(counts, level, observer)
        crossing = Crossing(factor, parameters, labels, answers, pooled, model, spec.formula)
        # Nothing is answered twice: effects would follow from the shape of ratings.
        if np.diff(answers.first).max() <= 1 and answers.numbers.max(initial=1) == 1:
            step = (
                f"Let several observers answer the same levels of {factor}, or each observer "
                f"answer a level several times; or leave (1 | {factor}) out of the formulas."
            )
            got = f"one answer to each {factor}, from which its effects cannot be told"
            raise TooFewError("counts", got, f"several answers to a {factor}", step)
        if is_integrated(crossing):
            return crossing
    return None


def is_integrated(crossing: Crossing) -> bool:
    """Whether a factor is integrated out; with effects on confidence, refuse too many nodes."""
    number, has_spread = crossing.nodes, bool({*OF_ITEMS} & {*crossing.parameters})
    if number > MOST_NODES and has_spread:
        step = (
            "Cut numbers, such as the length of an item, into a few classes; or give log_spread "
            f'the formula "0": effects of {crossing.factor} on d′ are then sampled.'
        )
        got = f"{len(crossing.counts):,} cells of observers, with {number:,} nodes of effects"
        raise TooManyError("counts", got, f"at most {MOST_NODES:,} nodes", step)
    is_crossed = min(int(np.bincount(row).max()) for row in crossing.pairs) > 1
    has_few = float(crossing.answers.numbers.sum()) <= MOST_ANSWERS * len(crossing.levels)
    return has_spread or (is_crossed and has_few and number <= MOST_NODES)


def intercepts_alone(spec: ModelSpec) -> Mapping[str, tuple[str, ...]]:
    """Factors with an intercept in `EFFECTS` and in nothing else, and in which of them."""
    found: dict[str, list[str]] = {}
    others: set[str] = set()
    for parameter, formula in spec.formula.items():
        parsed = parse_formula(formula)
        if parameter in OF_ITEMS and (parsed.common.columns or len(parsed.group_terms) != 1):
            return {}
        for group in parsed.group_terms:
            names = [":".join(columns) for columns in group.factors]
            is_one = group.written == "1" and len(names) == 1 and parameter in EFFECTS
            if is_one:
                found.setdefault(names[0], []).append(parameter)
            else:
                others |= {*names}
    return {
        factor: tuple(p for p in EFFECTS if p in own)
        for factor, own in found.items()
        if factor not in others
        and ((SHIFT in own) != ("dprime" in own))
        and all(name in own or name not in spec.formula for name in OF_ITEMS)
    }


def without_factor(spec: ModelSpec, factor: str) -> ModelSpec:
    """The model without the effects of a factor."""
    formulas = {name: own for name, own in spec.formula.items() if name not in OF_ITEMS}
    dprime = parse_formula(spec.formula["dprime"])
    kept = [
        bracket(g.expression.text, "|" if g.is_correlated else "||", columns)
        for g in dprime.group_terms
        for columns in g.factors
        if ":".join(columns) != factor
    ]
    formulas["dprime"] = " + ".join([dprime.common.text, *kept])
    return replace(spec, formula=formulas)


def answers_of(
    counts: xr.DataArray, level: NDArray[np.int64], observer: NDArray[np.int64]
) -> Answers:
    """How often observers gave which outcome to which level, by level."""
    table = counts.to_numpy().reshape(len(counts), -1)
    cell, outcome = np.nonzero(table)
    order = np.argsort(level[cell], kind="stable")
    cell, outcome = cell[order], outcome[order]
    rows = observer[cell] * table.shape[1] + outcome
    first = np.concatenate([[0], np.cumsum(np.bincount(level[cell], minlength=level.max() + 1))])
    return Answers(first, rows, table[cell, outcome].astype(float))


def answers_table(crossing: Crossing) -> xr.Dataset:
    """Answers of a crossing as a group of a fit, dims (entry,) and (level,)."""
    own, outcomes = crossing.answers, int(np.prod(crossing.counts.shape[1:]))
    entries = {
        "level_index": np.repeat(np.arange(len(crossing.levels)), np.diff(own.first)),
        "cell_index": own.rows // outcomes,
        "outcome_index": own.rows % outcomes,
        "number": own.numbers.astype(np.int64),
    }
    return xr.Dataset(
        {name: ("entry", values.astype(np.int32)) for name, values in entries.items()},
        {"level": crossing.levels},
        {
            "factor": crossing.factor,
            "parameters": " ".join(crossing.parameters),
            "has_loadings": int(crossing.has_loadings),
            "fineness": crossing.fineness,
        },
    )


def read_answers(table: xr.Dataset, counts: xr.DataArray, spec: ModelSpec) -> Crossing:
    """Crossing of a fit, from what `answers_table` made of it, its counts and its model.

    Raise InputError unless answers are those of the counts, and the factor one of the model.
    """
    counts = counts.transpose("cell", *spec.record.layout.dims)
    factor, outcomes = str(table.attrs.get("factor")), math.prod(counts.shape[1:])
    parameters = intercepts_alone(spec).get(factor)
    if parameters is None or table.attrs.get("parameters") != " ".join(parameters):
        allowed = "a factor and parameters of the model"
        raise DamagedError(ANSWERS, f"the factor {factor!r:.80}", allowed)
    fineness = str(table.attrs.get("fineness"))
    if fineness not in map(str, FINENESS):
        raise DamagedError(ANSWERS, f"fineness {fineness:.80}", f"one of {FINENESS}")
    sizes = {"level_index": table.sizes.get("level", 0), "cell_index": len(counts)}
    sizes |= {"outcome_index": outcomes, "number": np.iinfo(np.int32).max}
    columns = {}
    for name, size in sizes.items():
        own = table.get(name, xr.DataArray(np.nan))
        is_index = own.dims == ("entry",) and own.dtype.kind in "iu" and own.size > 0
        if not (is_index and int(own.min()) >= 0 and int(own.max()) < size):
            raise DamagedError(ANSWERS, f"no {name} below {size}", "whole numbers by entry")
        columns[name] = own.to_numpy().astype(np.int64)
    level, cell, outcome, number = columns.values()
    sums = np.bincount(cell * outcomes + outcome, number, counts.size)
    if not np.array_equal(sums, counts.to_numpy().ravel()) or (np.diff(level) < 0).any():
        raise DamagedError(ANSWERS, "other answers than the counts", "those of the counts")
    levels = table["level"].to_numpy().astype(str)
    is_named = all(one.count(":") >= factor.count(":") for one in levels.tolist())
    if not is_named or len({*levels.tolist()}) < len(levels):
        raise DamagedError(ANSWERS, f"no levels of {factor}", "levels with names of their own")
    first = np.concatenate([[0], np.cumsum(np.bincount(level, minlength=table.sizes["level"]))])
    answers = Answers(first, cell * outcomes + outcome, number.astype(float))
    model, has_loadings = without_factor(spec, factor), bool(table.attrs.get("has_loadings", 0))
    found = Crossing(factor, parameters, levels, answers, counts, model, spec.formula)
    return replace(found, has_loadings=has_loadings, fineness=int(fineness))


def unpooled_counts(crossing: Crossing) -> xr.DataArray:
    """Count table of observers and levels, as it was before levels were integrated out."""
    own, counts, number = crossing.answers, crossing.counts, len(crossing.levels)
    outcomes = math.prod(counts.shape[1:])
    level = np.repeat(np.arange(number), np.diff(own.first))
    pairs, place = np.unique(own.rows // outcomes * number + level, return_inverse=True)
    values = np.zeros((len(pairs), outcomes), counts.dtype)
    np.add.at(values, (place, own.rows % outcomes), own.numbers.astype(counts.dtype))
    table, levels = counts.isel(cell=pairs // number), crossing.levels[pairs % number]
    parts = crossing.factor.split(":")
    # Joined again they are the same levels, whatever is in their names.
    columns = zip(*(one.split(":", len(parts) - 1) for one in levels), strict=True)
    named = {name: ("cell", np.array(x)) for name, x in zip(parts, columns, strict=True)}
    table = table.assign_coords({x: own for x, own in named.items() if x not in counts.coords})
    labels = [f"{cell} | {one}" for cell, one in zip(table["cell"].values, levels, strict=True)]
    return table.copy(data=values.reshape(table.shape)).assign_coords(cell=labels)
