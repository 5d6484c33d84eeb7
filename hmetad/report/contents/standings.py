"""Which level of a column is best by a measure, and how sure that is.

Estimates (cell) and draws (cell, draw) of measures → strata → standings of the levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.compare.averaging import counted_trials
from hmetad.compare.comparability import are_unlike
from hmetad.compare.ranking import rank
from hmetad.counts.resample import has_spread
from hmetad.monte_carlo import INDEPENDENT, too_undefined, undefined_share
from hmetad.notice_registry import short_words
from hmetad.report.contents.tables import codes_in_words
from hmetad.results import best_end, is_raised_by_chance

__all__ = ["Measure", "Standing", "Stratum", "measure_strata", "standing_of"]

type Floats = NDArray[np.float64]

# Names of the share of right answers.
SHARES_RIGHT = ("accuracy", "share_right")


@dataclass(frozen=True)
class Measure:
    """A measure that a reader chooses by.

    Parameters
    ----------
    name : str
        Variable of the draws.
    heading : str
    question : str
        What it answers, in words.
    axis : str
        Name of its axis, with the unit and which end is better.
    chance : (str, float), optional
        Variable and value that its interval must exceed, for a level not to be at chance.
    needs_chance : bool
        Whether a level at chance has no place in the ranks, as for ratios to d′.
    """

    name: str
    heading: str
    question: str
    axis: str
    chance: tuple[str, float] | None = None
    needs_chance: bool = False

    @property
    def more_is_better(self) -> bool:
        """Whether the largest value is the best."""
        return best_end(self.name) == "more"


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
    inverse_trials : array, shape (levels,), or None
        1/n of each level, where numbers of trials are known; of a mean that of 1/n.
    """

    name: str
    levels: tuple[str, ...]
    estimates: dict[str, Floats]
    draws: dict[str, Floats]
    averaged: int = 0
    inverse_trials: Floats | None = None

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
    p_best: dict[str, float]
    best: str = ""
    rivals: tuple[str, ...] = ()
    left_out: dict[str, str] | None = None
    reason: str = ""

    @property
    def undefined(self) -> dict[str, float]:
        """Share of the draws, left out, in which levels that are ranked are undefined."""
        shares = undefined_share(self.stratum.draws[self.measure.name][:, None])
        named = zip(self.stratum.levels, shares.tolist(), strict=True)
        return {level: share for level, share in named if share > 0 and level in self.p_best}


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
    columns = [str(k) for k, v in draws.coords.items() if v.dims == ("cell",) and k != "cell"]
    others = [name for name in columns if name != over]
    keys = list(zip(*(draws[name].to_numpy().tolist() for name in others), strict=True))
    keys = keys or [()] * draws.sizes["cell"]
    rows = {name: draws[name].transpose("cell", "draw").to_numpy() for name in names}
    centres = {name: estimates[name].to_numpy().astype(float) for name in names}
    levels = [str(level) for level in draws[over].to_numpy().tolist()]
    counted = counted_trials(draws)
    inverse = None if counted is None else 1 / np.maximum(counted.to_numpy(), 1)
    strata = []
    for key in dict.fromkeys(keys):
        own = [place for place, one in enumerate(keys) if one == key]
        strata.append(
            Stratum(
                " | ".join(map(str, key)),
                tuple(levels[place] for place in own),
                {name: values[own] for name, values in centres.items()},
                {name: values[own] for name, values in rows.items()},
                inverse_trials=None if inverse is None else inverse[own],
            )
        )
    return [*mean_stratum(strata), *strata]


def mean_stratum(strata: Sequence[Stratum]) -> list[Stratum]:
    """Mean over the strata, each counting the same, of the levels that all of them have."""
    shared = [x for x in strata[0].levels if all(x in one.levels for one in strata)]
    if len(strata) < 2 or len(shared) < 2:
        return []
    places = [[one.levels.index(level) for level in shared] for one in strata]
    pairs = list(zip(strata, places, strict=True))

    def mean(part: str, name: str) -> Floats:
        values: Floats = np.mean([getattr(one, part)[name][own] for one, own in pairs], axis=0)
        return values

    names = strata[0].draws
    inverse = [x.inverse_trials[own] for x, own in pairs if x.inverse_trials is not None]
    return [
        Stratum(
            f"mean of {len(strata)} sets",
            tuple(shared),
            {name: mean("estimates", name) for name in names},
            {name: mean("draws", name) for name in names},
            averaged=len(strata),
            inverse_trials=np.mean(inverse, axis=0) if inverse else None,
        )
    ]


def standing_of(stratum: Stratum, measure: Measure, ci_prob: float) -> Standing:
    """Standing of the levels of a stratum by one measure.

    Levels at chance have no place in the ranks of a ratio to d′, and are not called best of another
    measure; nor is one whose draws are all the same, but of accuracy. Levels of which more than 5 %
    of the draws are undefined are not ranked, as in `rank`. By a measure that chance raises there
    is no verdict on levels with unlike numbers of trials.

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
    left_out = {name: why for name, why in at_chance.items() if measure.needs_chance}
    values = stratum.draws[measure.name]
    undefined = undefined_share(values[:, None])
    for place in np.flatnonzero(too_undefined(undefined)):
        words = f"undefined in {undefined[place]:.0%} of the draws"
        left_out.setdefault(stratum.levels[place], words)
    kept = [place for place, level in enumerate(stratum.levels) if level not in left_out]
    if len(kept) < 2:
        reason = "fewer than two can be ranked"
        return Standing(measure, stratum, {}, left_out=left_out, reason=reason)
    known = stratum.inverse_trials
    if known is not None and is_raised_by_chance(measure.name) and are_unlike(known[kept]):
        reason = short_words("raised-by-chance")
        return Standing(measure, stratum, {}, left_out=left_out, reason=reason)
    rows, levels = values[kept], [stratum.levels[place] for place in kept]
    coords: dict[str, Any] = {"level": ("cell", levels)}
    drawn = xr.DataArray(
        rows, {"cell": levels, **coords}, ("cell", "draw"), name=measure.name, attrs=INDEPENDENT
    )
    ranks = rank(drawn, over="level", ci_prob=ci_prob)
    p_best = dict(zip(levels, ranks["p_best"].to_numpy().tolist(), strict=True))
    withheld = codes_in_words(str(ranks["withheld"].to_numpy()[0]))
    if withheld:
        return Standing(measure, stratum, {}, left_out=left_out, reason=withheld)
    verdicts = dict(zip(levels, ranks["verdict"].to_numpy().tolist(), strict=True))
    best = next((level for level, word in verdicts.items() if word == "best"), "")
    is_alike = dict(zip(stratum.levels, ~has_spread(values), strict=True))
    # Of all trials right their number says how little is open; of an area, that of errors does.
    if best in at_chance or (is_alike.get(best) and measure.name not in SHARES_RIGHT):
        why = "is at chance" if best in at_chance else "has draws that are all the same"
        reason = f"{best}, the first, {why}"
        return Standing(measure, stratum, p_best, left_out=left_out, reason=reason)
    open_ones = [level for level, word in verdicts.items() if word != "not best"]
    rivals = () if best else tuple(sorted(open_ones, key=lambda level: -p_best[level]))
    return Standing(measure, stratum, p_best, best, rivals, left_out)


def levels_at_chance(stratum: Stratum, measure: Measure, ci_prob: float) -> dict[str, str]:
    """Levels whose interval reaches chance, and what to say of them."""
    if measure.chance is None or measure.chance[0] not in stratum.draws:
        return {}
    name, value = measure.chance
    centre, lower, _ = stratum.interval(name, ci_prob)
    lower = np.where(np.isnan(lower), centre, lower)
    said = f"{'d′' if name == 'dprime' else measure.heading} not above {value:g}"
    return {
        level: said for level, end in zip(stratum.levels, lower, strict=True) if not end > value
    }
