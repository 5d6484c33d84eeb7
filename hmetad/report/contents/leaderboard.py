"""The leaderboard of a page: which level of a column is best by each measure, and how sure that is.

Estimates (cell) and draws (cell, draw) of measures → Evidence: strata, and standings of their
levels; Evidence → the first screen of a page; ranks as returned by `rank` → Table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.coverage import items_of, shares_of
from hmetad.base.errors import ColumnError, nearest
from hmetad.base.monte_carlo import INDEPENDENT, too_undefined, undefined_share
from hmetad.base.notice import Notice, notices
from hmetad.base.notice_registry import short_words
from hmetad.base.results import about, find_result, shown_in
from hmetad.compare.cells import coordinates_of_cells
from hmetad.compare.comparability import are_unlike, traits_of
from hmetad.compare.ranking import rank, rank_table
from hmetad.compare.words import headings, ranked_words
from hmetad.counts.resample import has_spread
from hmetad.plots import intervals
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.tables import codes_in_words, early_notices
from hmetad.report.page.blocks import (
    Block,
    Cell,
    Figure,
    Numbers,
    Prose,
    Table,
    interval_cell,
    table_from_frame,
)
from hmetad.text.names import heading, in_percent, symbol

type Floats = NDArray[np.float64]

# Measures that a model is chosen by, of trials with confidence as it is and of counts of ratings.
OF_TRIALS = ("expected_score", "accuracy", "auroc2", "aurc", "ece_debiased", "brier")
OF_COUNTS = ("expected_score", "share_right", "dprime", "auroc2", "m_ratio", "rmi")
DRAWN = ("cell", "draw")
# Names of the share of right answers, which errors of confidence do not touch.
SHARES_RIGHT = ("accuracy", "share_right")
# Names that stand in a sentence.
MOST_NAMES = 4


@dataclass(frozen=True)
class Measure:
    """A measure that a reader chooses by, as the table of results has it.

    Parameters
    ----------
    name : str
        Variable of the draws.
    heading : str
    question : str
        What it answers, in words.
    axis : str
        Name of its axis, with the unit and which end is better.
    more_is_better : bool
    chance : (str, float), optional
        Variable and value that its interval must exceed, for a level not to be at chance.
    needs_chance : bool
        Whether a level at chance has no place in the ranks, as for ratios to d′.
    """

    name: str
    heading: str
    question: str
    axis: str
    more_is_better: bool
    chance: tuple[str, float] | None
    needs_chance: bool


def measure_named(name: str, section: str = "") -> Measure:
    """Measure by its name, of a section of the table of results or the first.

    Examples
    --------
    >>> measure_named("auroc2").axis, measure_named("m_ratio").chance
    ('probability (more is better; 0.5 is chance)', ('dprime', 0.0))
    """
    found, is_ratio = find_result(name, section), bool(about(name))
    assert found is not None
    at = "dprime" if is_ratio else name
    value = getattr(find_result(at), "chance", None)
    own = "" if found.chance is None else f"; {found.chance:g} is chance"
    axis = f"{found.axis} ({found.best} is better{own})"
    chance = None if value is None else (at, value)
    title = heading(name, section)
    return Measure(name, title, found.question, axis, found.best == "more", chance, is_ratio)


@dataclass(frozen=True)
class Stratum:
    """Levels that are compared, with everything else equal.

    Parameters
    ----------
    name : str
        What is equal, such as "A"; empty where nothing else differs.
    levels : tuple of str
    estimates : dict of str to array, shape (levels,)
    draws : dict of str to array, shape (levels, draws)
    averaged : int
        Over how many strata values are means; 0 where they are not.
    traits : dict of str to dict
        Of each measure what levels must be alike in, (levels, numbers), by code.
    """

    name: str
    levels: tuple[str, ...]
    estimates: dict[str, Floats]
    draws: dict[str, Floats]
    averaged: int = 0
    traits: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)

    def interval(self, name: str, ci_prob: float) -> Floats:
        """Estimate, lower and upper of each level, (3, levels).

        None beside what is undefined, nor where all draws are the same, which hold no error.
        """
        centre, values = self.estimates[name], self.draws[name]
        ends = np.full((2, len(centre)), np.nan)
        known = np.isfinite(centre) & has_spread(values)
        outside = (1 - ci_prob) / 2
        if known.any():
            ends[:, known] = np.nanquantile(values[known], [outside, 1 - outside], axis=1)
        return np.vstack([centre, ends])


@dataclass(frozen=True)
class Standing:
    """What can be said of the levels of a stratum by one measure.

    Parameters
    ----------
    measure : Measure
    stratum : Stratum
    p_best : dict of str to float
        Probability of being best, of the levels that are ranked.
    best : str
        The level whose verdict is "best"; empty where there is none.
    rivals : tuple of str
        Levels that are not told apart, the likeliest first, where none is best.
    left_out : dict of str to str
        Why levels are not ranked.
    reason : str
        Why there is no verdict, in words.
    """

    measure: Measure
    stratum: Stratum
    p_best: dict[str, float] = field(default_factory=dict)
    best: str = ""
    rivals: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    reason: str = ""

    @property
    def undefined(self) -> dict[str, float]:
        """Share of the draws, left out, in which levels that are ranked are undefined."""
        shares = undefined_share(self.stratum.draws[self.measure.name][:, None])
        named = zip(self.stratum.levels, shares.tolist(), strict=True)
        return {level: share for level, share in named if share > 0 and level in self.p_best}


@dataclass(frozen=True)
class Evidence:
    """All that a page shows of measures that a level is chosen by."""

    estimates: xr.Dataset
    draws: xr.Dataset
    over: str
    ci_prob: float
    measures: tuple[Measure, ...]
    strata: tuple[Stratum, ...]
    standings: Mapping[tuple[str, str], Standing]

    @property
    def first(self) -> Stratum:
        """What the first screen is about."""
        return self.strata[0]

    @property
    def single(self) -> list[Stratum]:
        """Strata that are no mean."""
        return [one for one in self.strata if not one.averaged]

    @property
    def order(self) -> list[str]:
        """All levels, those of the first stratum by their AUROC2, or score; undefined ones last."""
        name = "auroc2" if "auroc2" in self.first.estimates else self.measures[0].name
        values = self.first.estimates[name]
        places = np.argsort(np.where(np.isfinite(values), -values, np.inf), kind="stable")
        best_first = [self.first.levels[place] for place in places]
        return list(dict.fromkeys([*best_first, *(x for one in self.strata for x in one.levels)]))

    @property
    def cells(self) -> dict[str, list[str]]:
        """Labels of the cells of each stratum, by its name."""
        return cells_by_stratum(self.draws, self.over)

    def standing(self, stratum: Stratum) -> list[Standing]:
        """Standings of a stratum, measure by measure."""
        return [self.standings[stratum.name, one.name] for one in self.measures]


def leaderboard(
    found: Evidence, question: Sequence[str], unit: str, more: Sequence[Notice] = ()
) -> list[Block]:
    """Question, what a reader needs before the answer, the answer, its table and its figure.

    Parameters
    ----------
    found : Evidence
    question : sequence of str
        Paragraphs.
    unit : str
        What draws are made of, such as "2,000 draws by item".
    more : sequence of Notice, optional
        Notices that the draws do not have.

    Returns
    -------
    list of Block
        Of a single level there is no answer. The levels of single strata, if there are several,
        are in a second table, which is folded away.
    """
    blocks: list[Block] = [Prose("Question", tuple(question)), *early_notices(found.draws, more)]
    if len(found.first.levels) > 1:
        blocks.append(answer_prose(found, unit))
    blocks += [standings_table(found, [found.first], "leaderboard"), evidence_figure(found)]
    if len(found.strata) > 1:
        blocks.append(standings_table(found, found.single, "leaderboard-sets"))
    return blocks


def answer_prose(found: Evidence, unit: str) -> Prose:
    """Which level is best by each measure, in sentences, and what best means."""
    standings = found.standing(found.first)
    best: dict[str, list[str]] = {}
    for one in standings:
        if one.best:
            named = f"{one.measure.heading} ({one.p_best[one.best]:.3f})"
            best.setdefault(one.best, []).append(named)
    lines = [f"{level} is best by {in_a_row(names)}." for level, names in best.items()]
    lines += [open_sentence(one) for one in standings if not one.best]
    for one in standings:
        left = [f"{level} ({why})" for level, why in one.left_out.items()]
        if left:
            lines.append(f"Not ranked by {one.measure.heading}: {in_a_row(left)}.")
        shares = [f"{x} ({in_percent(round(share, 3))})" for x, share in one.undefined.items()]
        if shares:
            said_of = f"Draws in which {one.measure.heading} is undefined are left out"
            lines.append(f"{said_of}: {in_a_row(shares)}.")
    mean = f"Values are the {found.first.name}, each counting the same. "
    rule = (
        f"{mean * bool(found.first.averaged)}Best means that the probability of being the best, "
        f"over {unit}, is at least {in_percent(found.ci_prob)}. If none reaches that, all above "
        f"{in_percent(1 - found.ci_prob)} are named. The probability is in parentheses."
    )
    return Prose("Answer", (" ".join(lines), rule))


def open_sentence(one: Standing) -> str:
    """Between which levels it is open which is best by a measure, or why there is no verdict."""
    if one.reason:
        return f"By {one.measure.heading} there is no verdict: {one.reason}."
    named = [f"{level} ({one.p_best[level]:.3f})" for level in one.rivals]
    return f"By {one.measure.heading} the best is not decided: {in_a_row(named)}."


def in_a_row(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of many.

    Examples
    --------
    >>> in_a_row(["a", "b", "c"]), in_a_row(list("abcdefg"))
    ('a, b and c', 'a, b, c, d and 3 more')
    """
    if len(names) > MOST_NAMES + 1:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def standings_table(found: Evidence, strata: Sequence[Stratum], name: str) -> Table:
    """Every level of some strata with its value by each measure, marked if it is the best."""
    several, of_items = len(strata) > 1, items_by_level(found)
    firsts = [found.over[:1].upper() + found.over[1:], *(["Set"] if several else [])]
    firsts += ["Items"] if of_items else []
    rows: list[tuple[Cell, ...]] = []
    for stratum in strata:
        values = [stratum.interval(one.name, found.ci_prob) for one in found.measures]
        for level in sorted(stratum.levels, key=found.order.index):
            place = stratum.levels.index(level)
            cells: list[Cell] = [level, *([stratum.name] if several else [])]
            cells += [of_items["" if stratum.averaged else stratum.name, level]] if of_items else []
            for one, numbers in zip(found.standing(stratum), values, strict=True):
                mark = "*" if level == one.best else ""
                cells.append(interval_cell(numbers[:, place], mark=mark))
            rows.append(tuple(cells))
    where = f", {strata[0].name}" if strata[0].name and not several else " in every set" * several
    means = " ".join(f"{x.heading}: {x.question} {x.axis}." for x in found.measures)
    return Table(
        f"Every {found.over} by every measure{where}.",
        (*firsts, *(one.heading for one in found.measures)),
        tuple(rows),
        f"{in_percent(found.ci_prob)} intervals; * the best. {means}",
        name,
        is_folded=several,
        stems=tuple((one.heading, one.name) for one in found.measures),
    )


def items_by_level(found: Evidence) -> dict[tuple[str, str], Numbers]:
    """Items that each level has in each stratum, and in all (no name); none if all have all."""
    draws = found.draws
    items = items_of(draws.attrs, found.over, draws["cell"].values)
    if items is None or not (shares_of(items) < 1).any():
        return {}
    labels, levels = draws["cell"].values.tolist(), draws[found.over].values.astype(str)
    cells: dict[tuple[str, str], Numbers] = {}
    for stratum, inside in {"": labels, **found.cells}.items():
        for level in dict.fromkeys(levels.tolist()):
            own, every = items[(levels == level) & np.isin(labels, inside)].sum(axis=0).tolist()
            share = own / every if every else None
            cells[stratum, level] = Numbers(f"{own:,} of {every:,}" if every else "–", (share,))
    return cells


def evidence_figure(found: Evidence) -> Figure:
    """Every measure of every level with its interval; filled where a level is called best."""
    stratum, parts = found.first, []
    order = [level for level in found.order if level in stratum.levels]
    places = [stratum.levels.index(level) for level in order]
    for one in found.standing(stratum):
        numbers = stratum.interval(one.measure.name, found.ci_prob)
        if one.measure.needs_chance:
            # A ratio to nothing would make the axis too long to read the others.
            numbers[:, [level in one.left_out for level in stratum.levels]] = np.nan
        sides = dict(zip(("mean", "lower", "upper"), numbers[:, places], strict=True))
        names = {"measure": one.measure.heading, "axis": one.measure.axis}
        is_best = [level == one.best for level in order]
        parts.append(pd.DataFrame({"level": order, **names, **sides, "is_best": is_best}))
    table = pd.concat(parts, ignore_index=True)
    drawn = intervals.interval_panels(
        table, rows="level", panels="measure", strong="is_best", xlabel="axis"
    )
    where = f", {stratum.name}" if stratum.name else ""
    caption = (
        f"Every measure with {in_percent(found.ci_prob)} intervals{where}. A filled point "
        "is called best; in each panel the axis says which end is better."
    )
    alt = describe_intervals(table, label="level", group="measure", most=60)
    return Figure(caption, alt, drawn[0].figure, "evidence")


def ranking_table(ranks: xr.Dataset, *, name: str) -> Table:
    """Ranks of the levels of every stratum, the best first.

    Parameters
    ----------
    ranks : Dataset
        What `hmetad.rank` returned.
    name : str
        Stem of the table's file.

    Returns
    -------
    Table
    """
    frame, attrs = rank_table(ranks), ranks.attrs
    names = [attrs["over"], *(x for x in str(attrs["within"]).split(", ") if x)]
    columns = {x: x.replace("_", " ").capitalize() for x in names}
    columns |= {x: heading(x, "rank") for x in shown_in("rank")}
    frame = frame.assign(withheld=[codes_in_words(codes) for codes in frame["withheld"]])
    reasons = headings(frame[["undefined", "withheld"]].to_dict("records"), "page")
    if "coverage" in frame and (frame["coverage"] < 1).any():
        columns["coverage"] = "Coverage"
    level, rest = in_percent(attrs["ci_prob"]), in_percent(1 - attrs["ci_prob"])
    first = "largest" if attrs["largest_first"] else "smallest"
    told = [one.message for one in notices(ranks) if one.code == "undefined-draws"]
    left_out = "".join(f" {message}" for message in told)
    return table_from_frame(
        frame,
        f"Ranks{ranked_words(frame['mean_rank'].tolist())} by {symbol(str(attrs['quantity']))}.",
        columns=columns | reasons,
        formats={"mean_rank": ".1f", "rank_lower": ".0f", "rank_upper": ".0f", "p_best": ".3f"},
        note=f"Rank 1 is the {first} value; {level} intervals of the rank. P(best): probability of "
        f"rank 1; best from {level}, not best up to {rest}.{left_out}",
        name=name,
    )


def meaning_of(measures: Mapping[str, xr.DataArray], caption: str) -> Table:
    """Meaning, unit and source of measures, by the name that a page has for them."""
    keys = {"Meaning": "long_name", "Unit": "units", "Source": "source"}
    rows = tuple(
        (name, *(x.attrs.get(key, "") for key in keys.values())) for name, x in measures.items()
    )
    return Table(caption, ("Measure", *keys), rows, name="meaning")


def evidence_of(
    estimates: xr.Dataset,
    draws: xr.Dataset,
    over: str,
    ci_prob: float,
    measures: Sequence[Measure],
    withheld: Mapping[str, str] | None = None,
) -> Evidence:
    """Standings of all levels by measures.

    Parameters
    ----------
    estimates, draws : Dataset
        As of `measure_strata`.
    over : str
        Column whose levels are compared.
    ci_prob : float
        Probability from which a level is called best.
    measures : sequence of Measure
    withheld : mapping of str to str, optional
        Why strata have no verdict, by name; that of their mean has no name.

    Returns
    -------
    Evidence
    """
    names = [str(name) for name, drawn in draws.data_vars.items() if set(drawn.dims) == {*DRAWN}]
    strata = measure_strata(estimates, draws, over, [x for x in names if x in estimates])
    standings = {}
    for stratum in strata:
        reason = (withheld or {}).get("" if stratum.averaged else stratum.name, "")
        for one in measures:
            is_withheld = bool(reason) and one.name not in SHARES_RIGHT
            standings[stratum.name, one.name] = (
                Standing(one, stratum, reason=reason)
                if is_withheld
                else standing_of(stratum, one, ci_prob)
            )
    return Evidence(estimates, draws, over, ci_prob, tuple(measures), tuple(strata), standings)


def over_column(draws: xr.Dataset, over: str | None) -> str:
    """Column whose levels are compared: by default the first."""
    columns = coordinates_of_cells(draws)
    if over is not None and over not in columns:
        raise ColumnError("over", repr(over), "a grouping column", nearest(over, columns))
    return over or columns[0]


def cells_apart(draws: xr.Dataset, over: str) -> list[tuple[str, list[int]]]:
    """Names of the levels of the other columns, and places of the cells that have them."""
    others = [draws[x].to_numpy().tolist() for x in coordinates_of_cells(draws) if x != over]
    places: dict[tuple[object, ...], list[int]] = {}
    for place in range(draws.sizes["cell"]):
        places.setdefault(tuple(column[place] for column in others), []).append(place)
    return [(" | ".join(map(str, key)), own) for key, own in places.items()]


def cells_by_stratum(draws: xr.Dataset, over: str) -> dict[str, list[str]]:
    """Labels of the cells of each stratum, by its name."""
    labels = draws["cell"].to_numpy().tolist()
    return {name: [labels[place] for place in own] for name, own in cells_apart(draws, over)}


def measure_strata(
    estimates: xr.Dataset, draws: xr.Dataset, over: str, names: Sequence[str]
) -> list[Stratum]:
    """Strata of cells that differ in one column alone; first their mean, where there are several.

    Parameters
    ----------
    estimates : Dataset
        Dim cell, with one coordinate per grouping column.
    draws : Dataset
        Dims (cell, draw), of the same cells.
    over : str
        Column whose levels are compared.
    names : sequence of str
        Variables.

    Returns
    -------
    list of Stratum
    """
    rows = {name: draws[name].transpose(*DRAWN).to_numpy() for name in names}
    centres = {name: estimates[name].to_numpy().astype(float) for name in names}
    levels = [str(level) for level in draws[over].to_numpy().tolist()]
    traits = {name: traits_of(draws, draws[name], ()) for name in names}
    strata = [
        Stratum(
            name,
            tuple(levels[place] for place in own),
            {name: values[own] for name, values in centres.items()},
            {name: values[own] for name, values in rows.items()},
            traits={name: {k: x[own] for k, x in one.items()} for name, one in traits.items()},
        )
        for name, own in cells_apart(draws, over)
    ]
    others = [name for name in coordinates_of_cells(draws) if name != over]
    return [*mean_stratum(strata, others), *strata]


def mean_stratum(strata: Sequence[Stratum], columns: Sequence[str]) -> list[Stratum]:
    """Mean over the strata, each counting the same, of the levels that all of them have."""
    shared = [x for x in strata[0].levels if all(x in one.levels for one in strata)]
    if len(strata) < 2 or len(shared) < 2:
        return []
    pairs = [(one, [one.levels.index(level) for level in shared]) for one in strata]
    names = strata[0].draws
    of_means = {
        name: {k: np.mean([x.traits[name][k][own] for x, own in pairs], axis=0) for k in traits}
        for name, traits in strata[0].traits.items()
    }
    return [
        Stratum(
            f"mean over {' and '.join(columns)}",
            tuple(shared),
            {name: np.mean([x.estimates[name][own] for x, own in pairs], axis=0) for name in names},
            {name: np.mean([x.draws[name][own] for x, own in pairs], axis=0) for name in names},
            averaged=len(strata),
            traits=of_means,
        )
    ]


def standing_of(stratum: Stratum, measure: Measure, ci_prob: float) -> Standing:
    """Standing of the levels of a stratum by one measure.

    Levels at chance have no place in the ranks of a ratio to d′, and are not called best of another
    measure; nor is one whose draws are all the same, but of accuracy. Levels of which more than 5 %
    of the draws are undefined are not ranked, as in `rank`. By a measure that chance raises there
    is no verdict on levels with unequal numbers of trials.

    Parameters
    ----------
    stratum : Stratum
    measure : Measure
    ci_prob : float
        Probability from which a level is called best.

    Returns
    -------
    Standing
    """
    at_chance = levels_at_chance(stratum, measure, ci_prob)
    left_out = dict(at_chance) if measure.needs_chance else {}
    values = stratum.draws[measure.name]
    undefined = undefined_share(values[:, None])
    for place in np.flatnonzero(too_undefined(undefined)):
        words = f"undefined in {undefined[place]:.0%} of the draws"
        left_out.setdefault(stratum.levels[place], words)
    found = Standing(measure, stratum, left_out=left_out)
    kept = [place for place, level in enumerate(stratum.levels) if level not in left_out]
    if len(kept) < 2:
        return replace(found, reason="fewer than two can be ranked")
    for code, trait in stratum.traits.get(measure.name, {}).items():
        if are_unlike(code, trait[kept]):
            return replace(found, reason=short_words(code))
    levels = [stratum.levels[place] for place in kept]
    coords = {"cell": levels, "level": ("cell", levels)}
    drawn = xr.DataArray(values[kept], coords, DRAWN, name=measure.name, attrs=INDEPENDENT)
    ranks = rank(drawn, over="level", ci_prob=ci_prob)
    withheld = codes_in_words(str(ranks["withheld"].to_numpy()[0]))
    if withheld:
        return replace(found, reason=withheld)
    p_best = dict(zip(levels, ranks["p_best"].to_numpy().tolist(), strict=True))
    verdicts = dict(zip(levels, ranks["verdict"].to_numpy().tolist(), strict=True))
    found = replace(found, p_best=p_best)
    best = next((level for level, word in verdicts.items() if word == "best"), "")
    if not best:
        open_ones = [level for level, word in verdicts.items() if word != "not best"]
        return replace(found, rivals=tuple(sorted(open_ones, key=lambda level: -p_best[level])))
    if best in at_chance:
        return replace(found, reason=f"{best}, the first, is at chance")
    # Of all trials right their number says how little is open; of an area, that of errors does.
    has_error = has_spread(values)[stratum.levels.index(best)] or measure.name in SHARES_RIGHT
    if not has_error:
        return replace(found, reason=f"{best}, the first, has draws that are all the same")
    return replace(found, best=best)


def levels_at_chance(stratum: Stratum, measure: Measure, ci_prob: float) -> dict[str, str]:
    """Levels whose interval reaches chance, and what to say of them."""
    if measure.chance is None or measure.chance[0] not in stratum.draws:
        return {}
    name, value = measure.chance
    centre, lower, _ = stratum.interval(name, ci_prob)
    lower = np.where(np.isnan(lower), centre, lower)
    said = f"{heading(name)} not above {value:g}"
    return {
        level: said for level, end in zip(stratum.levels, lower, strict=True) if not end > value
    }
