"""How many trials a question about M needs, and what is read off a plan.

Truth, design and ROPE → Dataset (trials, verdict): how often studies of each size come to which
verdict, and how wide their intervals are. Such a plan, or one of people
(`hmetad.simulate.plan_people`), and what is wanted → number of trials, or of people.
Source: Kruschke (2013), on planning by the interval and the ROPE.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, positive, probability, seed_or_none, whole
from hmetad.base.errors import ChoiceError, NumberError, TooFewError
from hmetad.base.memory import refuse_memory
from hmetad.base.results import attrs_of
from hmetad.base.threads import in_threads
from hmetad.compare.verdicts import check_arguments, decide_normal, interval_words
from hmetad.mle.meta_d import fit_mle
from hmetad.simulate.recovery import summaries
from hmetad.simulate.simulate import simulate_counts

type Floats = NDArray[np.float64]
type Rope = tuple[float, float] | None
# Results by name, and the Monte Carlo error of each.
type Estimates = dict[str, tuple[ArrayLike, ArrayLike]]

VERDICTS = ("different", "negligible", "inconclusive", "unreliable")
CELL_ESTIMATES = ("log_m", "log_m_se", "m_ratio")
# Distances of criteria, where they are not given.
GAP = 0.5
# Studies of a size that are simulated at a time; of single cells, thousands take seconds.
ROUND, FAST_ROUND = 20, 1000
# The largest Monte Carlo error of a probability or coverage at which no more studies are simulated.
MOST_ERROR = 0.05
MINUTES = 10.0


@check_inputs(
    dprime=arrays_of_numbers,
    m_ratio=arrays_of_numbers,
    c=arrays_of_numbers,
    gaps=arrays_of_numbers,
    options=whole(2),
    subjects=whole(1),
    item_sds=arrays_of_numbers,
    others=whole(0),
    ci_prob=probability,
    n=whole(2),
    minutes=positive,
    seed=seed_or_none,
)
def plan_trials(
    *,
    trials: Sequence[int] = (100, 200, 400, 800, 1600),
    dprime: ArrayLike = 1.5,
    m_ratio: ArrayLike = (1.0, 0.8),
    c: ArrayLike = 0.0,
    options: int = 2,
    ratings: int = 4,
    subjects: int = 1,
    between_sd: float = 0.0,
    correlation: float = 0.0,
    item_sds: ArrayLike = (),
    others: int = 0,
    rope: tuple[float, float] | None = None,
    ci_prob: float = 0.95,
    comparisons: int = 1,
    gaps: ArrayLike | None = None,
    meta_criterion: str = "relative",
    n: int | None = None,
    minutes: float = MINUTES,
    seed: int | None = None,
) -> xr.Dataset:
    r"""What studies of several sizes would find, by simulating and fitting them.

    Parameters
    ----------
    trials : sequence of int, shape (sizes,)
        Trials of a cell, that is of one subject in one condition; at least 2.
    dprime, c : float or array, shape (conditions,)
        True sensitivity (above 0) and criterion.
    options : int
        Options of a task. With more than two, studies have correct answers and errors alone: they
        are simulated and fitted by the likelihood `alternatives`, d′ is in the unit of two options,
        and there is no c and no rule for κ.
    m_ratio : float or array, shape (1,) or (2,)
        True M of one condition, or of two that are compared. Of several subjects it is the
        median.
    ratings : int
        K.
    subjects : int
        Subjects in each condition. One stands for a study of single cells, as of two language
        models; with more, their mean is judged.
    between_sd : float
        Standard deviation of log M between subjects.
    correlation : float
        Of a subject's log M in the two conditions; 0 where these have different subjects.
    item_sds : float or array, shape (1,) or (2,), optional
        Standard deviations between items of d′, and of the logarithms of criteria. With them every
        trial is an item that all subjects of both conditions answer once, as the questions of a
        benchmark, and studies are fitted by the card `alternatives_crossed`.
    others : int
        Further observers who answer the same items, with d′ and M of the first condition.
    rope : tuple of float
        Region of practical equivalence of the difference in log M, or of log M itself where there
        is one condition. It may be excluded there, and only precision is planned.
    ci_prob, comparisons
        As in `decide`.
    gaps : array, optional
        Distances of the criteria, as in `simulate_counts`.
    meta_criterion : {"relative", "absolute"}
        κ = M·c or κ = c, of the true value and of the fit.
    n : int, optional
        Studies simulated for each number of trials. By default 1,000; with `item_sds` as many as
        make the Monte Carlo error of each probability and of the coverage at most .05.
    minutes : float, optional
        Without `n`, time after which no further round of studies begins; 10 by default.
    seed : int, optional
        The same seed gives the same plan, unless time ends it.

    Returns
    -------
    Dataset
        By trials: ``half_width`` of the interval of what is judged, on the scale of log M;
        ``coverage``, the proportion of these intervals that cover the true value; ``studies``, the
        number simulated. By
        trials and verdict, with a ROPE: ``probability`` of "different", "negligible",
        "inconclusive", and "unreliable", where a study has no log M to judge. By trials and
        condition: ``log_m_half_width`` of a single cell, ``bias`` of M, and ``undefined``, the
        proportion of cells without log M since M̂ ≤ 0 or there is no maximum. Each with its Monte
        Carlo error, ``*_se``; of proportions by Wilson's interval, so that it is above 0 also for
        proportions of 0 and 1. attrs: the arguments (``gaps`` as JSON, where given), and with a
        ROPE ``truth``, the verdict that data without end would give.

    Raises
    ------
    InputError
        If an argument is out of range, or two conditions are given without a ROPE.

    Notes
    -----
    Cells are fitted by maximum likelihood (`fit_mle`), and intervals are those of the delta
    method, :math:`\log\hat M_1 - \log\hat M_2 \pm z\,(SE_1^2 + SE_2^2)^{1/2}`. Of several subjects
    the mean of their estimates is judged, with the interval of the t-test (paired where there are
    two conditions); subjects without log M are excluded from it, which `undefined` and `bias` show.
    A posterior of the same data gives much the same interval; in a hierarchical model it is
    narrower, where subjects have few trials. Half-widths are medians, since a study with M̂ near 0
    has an interval without bounds. With `item_sds`, errors of two observers are taken
    as independent, though they go together: intervals of differences are too wide.

    Examples
    --------
    >>> plan = plan_trials(trials=[200, 6400], rope=(-0.05, 0.05), n=200, seed=1)
    >>> plan["probability"].sel(verdict="different").round(1).values.tolist()
    [0.0, 0.8]
    """
    sizes = planned_sizes("trials", trials, 2)
    truth = true_values(m_ratio, dprime, c, has_bias=options == 2 and not np.size(item_sds))
    ratios = truth["m_ratio"]
    refuse_impossible_study(len(ratios), subjects, between_sd, correlation, rope)
    sds = item_sds_of(item_sds, len(ratios) * subjects, others)
    rule = Rule(rope, ci_prob, comparisons, n, ROUND if sds else FAST_ROUND, minutes, seed)
    # Counts of two stimuli, two responses and each rating, of a round of studies at once.
    refuse_memory("n", str(n), 8 * 4 * ratings * rule.round * subjects * len(ratios))
    rng, spread = np.random.default_rng(seed), (between_sd, correlation)
    design = {"ratings": ratings, "gaps": gaps, "seed": rng}
    design |= {"likelihood": "alternatives", "options": options} if sds or options > 2 else {}
    true = float(np.log(ratios) @ np.array([1.0, -1.0])[: len(ratios)])

    def simulated(some: Sequence[tuple[int, ...]], studies: range) -> list[dict[str, Floats]]:
        found = []
        for (number,) in some:
            true_m = draw_ratios(ratios, (len(studies), subjects), spread, rng)
            own = {**design, "trials": number}
            cells = simulate_cells(truth, true_m, meta_criterion, (sds, others), own)
            found.append({**cells, "true_m": true_m})
        return found

    def summary(rounds: list[dict[str, Floats]]) -> Estimates:
        cells = {x: np.concatenate([one[x] for one in rounds], axis=1) for x in rounds[0]}
        return summarise_cells(cells, true, rope, rule.level)

    coords = {"trials": sizes, "condition": ["first", "second"][: len(ratios)]}
    coords |= {"true_m_ratio": ("condition", ratios)}
    said: dict[str, Any] = {"options": options, "ratings": ratings, "subjects": subjects}
    said |= {"between_sd": between_sd, "correlation": correlation}
    said["meta_criterion"] = meta_criterion
    said |= {"item_sds": list(sds), "others": others} if sds else {}
    said |= {} if gaps is None else {"gaps": json.dumps(np.asarray(gaps).tolist())}
    said |= {name: truth[name].tolist() for name in ("dprime", "c")}
    said["judged"] = "log M" if len(ratios) == 1 else "difference in log M"
    plan = plan_by_rounds(coords, simulated, summary, rule, "plan_trials")
    return plan.assign_attrs(said | rule.attrs(true))


@dataclass(frozen=True)
class Rule:
    """How studies are judged, and how many are simulated.

    Parameters
    ----------
    rope : tuple of float or None
    ci_prob : float
    comparisons : int
    n : int or None
        Studies of a size; None for as many as make errors small.
    step : int
        Studies of a size in a round, where n does not say it.
    minutes : float
    seed : int or None
    """

    rope: Rope
    ci_prob: float
    comparisons: int
    n: int | None
    step: int
    minutes: float
    seed: int | None

    def __post_init__(self) -> None:
        check_arguments(self.rope or (-1.0, 1.0), 0.0, self.ci_prob, self.comparisons)

    @property
    def round(self) -> int:
        """Studies of a size that are simulated at a time."""
        return self.n or self.step

    @property
    def level(self) -> float:
        """Probability of the intervals."""
        return 1 - (1 - self.ci_prob) / self.comparisons

    def attrs(self, true: float) -> dict[str, Any]:
        """Settings of a plan, and the verdict that data without end would give."""
        said: dict[str, Any] = {"ci_prob": self.ci_prob, "comparisons": self.comparisons}
        said["seed"] = str(self.seed)
        said |= {"n": self.n} if self.n else {"minutes": self.minutes, "most_error": MOST_ERROR}
        if self.rope is None:
            return said
        value = np.array([true])
        truth = str(interval_words(value, value, self.rope)[0])
        return {**said, "rope": list(self.rope), "truth": truth}


def planned_sizes(argument: str, given: Sequence[int], least: int, groups: int = 1) -> list[int]:
    """Numbers to plan for, of which there is one at least."""
    sizes: list[int] = np.atleast_1d(given).tolist()
    if not sizes:
        raise TooFewError(argument, "none", "at least one number")
    for number in sizes:
        whole(least)(argument, number)
        if number % groups:
            step = "Half of the people are in each group."
            raise NumberError(argument, str(number), "even numbers", step)
    return sizes


def true_values(
    m_ratio: ArrayLike, dprime: ArrayLike, c: ArrayLike, *, has_bias: bool
) -> dict[str, Floats]:
    """True M, d′ and c of each condition."""
    ratios = np.atleast_1d(np.asarray(m_ratio, dtype=float))
    if ratios.ndim != 1 or len(ratios) > 2 or not (ratios > 0).all():
        raise NumberError("m_ratio", repr(m_ratio), "one M above 0, or two to compare")
    values = {"m_ratio": ratios}
    for name, given in (("dprime", dprime), ("c", c)):
        array = np.asarray(given, dtype=float)
        if array.shape not in ((), ratios.shape):
            allowed = f"one number, or {len(ratios)}: as many as there are M"
            raise ChoiceError(name, repr(given), allowed)
        values[name] = np.broadcast_to(array, ratios.shape)
    if not (values["dprime"] > 0).all():
        raise NumberError("dprime", repr(dprime), "d′ above 0", "M is meta-d′/d′.")
    if values["c"].any() and not has_bias:
        step = "Biases are left out of choices among options, and of items."
        raise ChoiceError("c", f"{c!r}", "0", step)
    return values


def draw_ratios(
    medians: Floats, shape: tuple[int, int], spread: tuple[float, float], rng: np.random.Generator
) -> Floats:
    """M of every subject in one or two conditions, (conditions, studies, subjects).

    `spread` are the standard deviation of log M between subjects, and its correlation.
    """
    between_sd, correlation = spread
    scores = rng.standard_normal((len(medians), *shape))
    if len(medians) > 1:
        scores[1] = correlation * scores[0] + np.sqrt(1 - correlation**2) * scores[1]
    return np.exp(np.log(medians)[:, None, None] + between_sd * scores)


def refuse_impossible_study(
    conditions: int, subjects: int, between_sd: float, correlation: float, rope: Rope
) -> None:
    """Refuse studies that cannot be, or not be judged."""
    alone = ("The mean of a population is not learnt from one subject.",)
    alike = tuple(
        f"Subjects who all have the same M have nothing to correlate: add {way}."
        for way in ("between_sd=", "--between-sd")
    )
    limits = tuple(
        f"Write both limits, as in {way}, or plan for one condition."
        for way in ("rope=(-0.05, 0.05)", "--rope=-0.05,0.05")
    )
    sd, r, is_single = f"{between_sd:g}", f"{correlation:g}", conditions == 1
    cases = (
        (not 0 <= between_sd < np.inf, "between_sd", sd, "a number of at least 0", ()),
        (between_sd and subjects == 1, "between_sd", f"{sd} of one subject", "two subjects", alone),
        (not -1 <= correlation <= 1, "correlation", r, "a number from -1 to 1", ()),
        (correlation and is_single, "correlation", f"{r} of one condition", "two conditions", ()),
        (correlation and not between_sd, "correlation", f"{r} without between_sd", "both", alike),
        (rope is None and not is_single, "rope", "none", "(lower, upper) of a difference", limits),
    )
    for is_case, argument, got, allowed, steps in cases:
        if is_case:
            raise ChoiceError(argument, got, allowed, *steps)


def simulate_cells(
    truth: Mapping[str, Floats],
    m_ratio: Floats,
    meta_criterion: str,
    items: tuple[tuple[float, ...], int],
    design: Mapping[str, Any],
) -> dict[str, Floats]:
    """Estimates from counts of every subject and condition, in the shape of their true M.

    `items` are SDs between items, if there are any, and the number of further observers.
    """
    if items[0]:
        return simulate_crossed(truth, m_ratio, *items, design)
    each = m_ratio[0].size
    d, c = (np.repeat(truth[name], each) for name in ("dprime", "c"))
    if "options" in design:
        fitted = fit_mle(simulate_counts(d, m_ratio=m_ratio.ravel(), **design))
    else:
        counts = simulate_counts(d, c, m_ratio.ravel(), meta_criterion=meta_criterion, **design)
        fitted = fit_mle(counts, meta_criterion=meta_criterion)
    return {name: fitted[name].to_numpy().reshape(m_ratio.shape) for name in CELL_ESTIMATES}


def item_sds_of(given: ArrayLike, observers: int, others: int) -> tuple[float, ...]:
    """SDs between items of d′ and of log criteria; none where trials are not items."""
    sds = np.atleast_1d(np.asarray(given, dtype=float))
    if not sds.size:
        if others:
            step = "Others are there because they answer the same items: add item_sds=."
            raise ChoiceError("others", f"{others} without item_sds", "0", step)
        return ()
    if sds.shape not in ((1,), (2,)) or not (np.isfinite(sds) & (sds >= 0)).all():
        allowed = "one or two numbers of at least 0: SDs of d′ and of log criteria"
        raise NumberError("item_sds", repr(given), allowed)
    if observers + others < 2:
        step = "One answer of one observer does not say how hard an item is: add others=."
        raise ChoiceError("item_sds", "items of one observer", "two observers or more", step)
    return float(sds[0]), float(sds[1:].sum())


def simulate_crossed(
    truth: Mapping[str, Floats],
    m_ratio: Floats,
    item_sds: tuple[float, ...],
    others: int,
    design: Mapping[str, Any],
) -> dict[str, Floats]:
    """Estimates where all observers of a study answer the same items, in the shape of true M."""
    conditions, studies, subjects = m_ratio.shape
    items, own = design["trials"], conditions * subjects
    gaps = np.full(design["ratings"] - 1, GAP) if design["gaps"] is None else design["gaps"]
    # The first condition comes last again, as that of the others.
    place = np.r_[np.repeat(np.arange(conditions), subjects), np.zeros(others, np.int64)]
    names = {"subject": np.repeat(np.arange(len(place)), items)}
    names["item"] = np.tile(np.arange(items), len(place))

    def estimates(study: int) -> Floats:
        rng = generators[study]
        effects = rng.normal(0, np.array(item_sds)[:, None], (2, items))
        d = truth["dprime"][place][:, None] + effects[0]
        spread = np.tile(np.exp(effects[1]), len(place))
        m = np.r_[m_ratio[:, study].ravel(), np.repeat(truth["m_ratio"][0], others)]
        values = {"m_ratio": np.repeat(m, items), "gaps": spread[:, None] * gaps, "coords": names}
        counts = simulate_counts(d.ravel(), **{**design, **values, "trials": 1, "seed": rng})
        found = fit_mle(counts, "alternatives_crossed")
        order = np.argsort(found["subject"].to_numpy().astype(int))[:own]
        return np.stack([found[name].to_numpy()[order] for name in CELL_ESTIMATES])

    generators = design["seed"].spawn(studies)
    found = np.stack(in_threads(estimates, range(studies)))
    found = found.reshape(studies, -1, conditions, subjects).transpose(1, 2, 0, 3)
    return dict(zip(CELL_ESTIMATES, found, strict=True))


def plan_by_rounds[Studies](
    coords: Mapping[str, Any],
    simulated: Callable[[Sequence[tuple[int, ...]], range], Sequence[Studies]],
    summary: Callable[[list[Studies]], Estimates],
    rule: Rule,
    function: str,
) -> xr.Dataset:
    """What studies of each size find: by rounds, until proportions are known well enough.

    `simulated` returns the results of a round, for some sizes and numbers of studies. Sizes are
    those of subjects, if there are any, and trials.
    """
    over = [dim for dim in ("subjects", "trials") if dim in coords]
    sizes = [*product(*(coords[dim] for dim in over))]
    rounds: list[list[Studies]] = [[] for _ in sizes]
    found: list[Estimates] = [{} for _ in sizes]
    left, first, began = [*range(len(sizes))], 0, time.monotonic()
    while left:
        start, studies = time.monotonic(), range(first, first + rule.round)
        for i, own in zip(left, simulated([sizes[i] for i in left], studies), strict=True):
            rounds[i].append(own)
            found[i] = {**summary(rounds[i]), "studies": (studies.stop, np.nan)}
        left = [i for i in left if rule.n is None and largest_error(found[i]) > MOST_ERROR]
        first, now = studies.stop, time.monotonic()
        if now - began + (now - start) > 60 * rule.minutes:
            # The next round would end later.
            break
    return labelled_plan(found, coords, function)


def largest_error(found: Estimates) -> float:
    """Largest Monte Carlo error of the probabilities of verdicts and of the coverage."""
    errors = [found[name][1] for name in ("probability", "coverage") if name in found]
    return float(np.nanmax(np.concatenate([np.ravel(x) for x in errors]), initial=0.0))


def summarise_cells(
    cells: Mapping[str, Floats], true: float, rope: Rope, level: float
) -> Estimates:
    """What studies of one size found, from estimates and true M (conditions, studies, subjects)."""
    z = norm.isf((1 - level) / 2)
    is_defined = np.isfinite(cells["log_m"]) & np.isfinite(cells["log_m_se"])
    estimate, half_width = judged_by_study(cells, is_defined, level)
    widths = [
        median_and_error(x[ok]) for x, ok in zip(z * cells["log_m_se"], is_defined, strict=True)
    ]
    errors = summaries((cells["m_ratio"] - cells["true_m"]).reshape(len(widths), -1))
    is_known = np.isfinite(half_width)
    covers = abs(estimate - true)[is_known] <= half_width[is_known]
    found: Estimates = {
        "half_width": median_and_error(half_width[is_known]),
        "coverage": share_and_error(covers.mean() if covers.size else np.nan, max(covers.size, 1)),
        "log_m_half_width": ([median for median, _ in widths], [se for _, se in widths]),
        "bias": (errors["bias"], errors["bias_se"]),
        "undefined": share_and_error(1 - is_defined.mean(axis=(1, 2)), is_defined[0].size),
    }
    if rope is not None:
        # The half-width may be that of a t-interval: as a normal one of the same width.
        judged = decide_normal(estimate, half_width / z, rope=rope, ci_prob=level)
        found["probability"] = shares_of_verdicts(judged.results["verdict"].to_numpy())
    return found


def judged_by_study(
    cells: Mapping[str, Floats], is_defined: NDArray[np.bool_], level: float
) -> tuple[Floats, Floats]:
    """Estimate and half-width of each study, NaN where there is none."""
    weights = np.array([1.0, -1.0])[: len(is_defined), None, None]
    usable = is_defined.all(axis=0)
    values = (weights * np.where(usable, cells["log_m"], 0.0)).sum(axis=0)
    variances = np.where(usable, cells["log_m_se"] ** 2, 0.0).sum(axis=0)
    if usable.shape[1] == 1:
        z = norm.isf((1 - level) / 2)
        estimate = np.where(usable, values, np.nan)[:, 0]
        return estimate, z * np.sqrt(np.where(usable, variances, np.nan))[:, 0]
    number = usable.sum(axis=1)
    number = np.where(number > 1, number, np.nan)
    mean = values.sum(axis=1) / number
    squares = (np.where(usable, values - mean[:, None], 0.0) ** 2).sum(axis=1)
    return mean, t.isf((1 - level) / 2, number - 1) * np.sqrt(squares / (number - 1) / number)


def median_and_error(values: Floats) -> tuple[float, float]:
    """Median, and its standard error by the order statistics one binomial error away."""
    if len(values) < 2:
        return np.nan, np.nan
    reach = 0.5 / np.sqrt(len(values))
    lower, upper = np.quantile(values, [0.5 - reach, 0.5 + reach])
    return float(np.median(values)), float(upper - lower) / 2


def share_and_error(share: ArrayLike, number: int) -> tuple[ArrayLike, Floats]:
    """A proportion and its standard error by Wilson's 95 % interval: above 0 also at 0 and 1."""
    z, p = norm.isf(0.025), np.asarray(share, dtype=float)
    return share, np.sqrt(p * (1 - p) / number + (z / number / 2) ** 2) / (1 + z**2 / number)


def shares_of_verdicts(words: NDArray[np.str_]) -> tuple[ArrayLike, Floats]:
    """How many of the studies come to each verdict, and the error of that."""
    return share_and_error(np.array([np.mean(words == one) for one in VERDICTS]), len(words))


def labelled_plan(
    found: Sequence[Estimates], coords: Mapping[str, Any], function: str
) -> xr.Dataset:
    """Results of all sizes, labelled, each beside its error."""
    over = [dim for dim in ("subjects", "trials") if dim in coords]
    verdicts = {"verdict": list(VERDICTS)} if "probability" in found[0] else {}
    result = xr.Dataset(coords={**coords, **verdicts})
    for name in found[0]:
        dims = (*over, "verdict" if name == "probability" else "condition")
        # A number of studies has no error.
        for place, own in enumerate((name,) if name == "studies" else (name, f"{name}_se")):
            values = np.array([one[name][place] for one in found])
            values = values.reshape(*(len(coords[dim]) for dim in over), *values.shape[1:])
            long_name = attrs_of(own, function)["long_name"]
            result[own] = dims[: values.ndim], values, {"long_name": long_name}
    return result


@check_inputs(probability=probability, half_width=positive)
def size_needed(
    plan: xr.Dataset,
    *,
    probability: float | None = None,
    verdict: str | None = None,
    half_width: float | None = None,
) -> xr.DataArray:
    """Size at which a study decides as often, or measures as precisely, as wanted.

    Parameters
    ----------
    plan : Dataset
        What `plan_trials` or `plan_groups` returned.
    probability : float, optional
        Wanted probability of the verdict.
    verdict : {"different", "negligible"}, optional
        By default the true one.
    half_width : float, optional
        Wanted half-width of the interval, instead of `probability`.

    Returns
    -------
    DataArray
        Of `plan_trials`, the number of trials of a cell; of `plan_groups`, the number of
        participants in all groups, dims (trials,). Interpolated on the logarithm of the size (for a
        half-width, on both logarithms), where the plan first reaches what is wanted; the first size
        of the plan, if that suffices; NaN if none does.

    Raises
    ------
    InputError
        If not one of `probability` and `half_width` is given, or the plan has no ROPE.

    Examples
    --------
    >>> plan = plan_trials(trials=[100, 400, 1600], m_ratio=1.0, n=200, seed=1)
    >>> 450 < size_needed(plan, half_width=0.3).item() < 550
    True
    """
    if "trials" not in plan.dims:
        got = f"a Dataset with dims {', '.join(map(str, plan.dims)) or 'none'}"
        raise ChoiceError("plan", got, "what plan_trials or plan_groups returned")
    over = "subjects" if "subjects" in plan.dims else "trials"
    plan = plan.sortby(over)
    if (probability is None) == (half_width is None):
        got = "neither" if probability is None else "both"
        raise ChoiceError("probability, half_width", got, "one of the two")
    goal: Any
    reached: Any
    if half_width is not None:
        goal, reached = -np.log(half_width), -np.log(plan["half_width"])
    else:
        if "probability" not in plan:
            raise NumberError("plan", "one without a ROPE", "one with a ROPE", "Give a rope.")
        judged = plan.attrs["truth"] if verdict is None else verdict
        if judged not in VERDICTS[:2]:
            raise ChoiceError("verdict", repr(judged), "'different' or 'negligible'")
        goal, reached = probability, plan["probability"].sel(verdict=judged, drop=True)
    found = xr.apply_ufunc(
        partial(size_reaching, goal),
        plan[over],
        reached,
        input_core_dims=[[over], [over]],
        vectorize=True,
        output_dtypes=[float],
    )
    return found.rename(f"{over}_needed")


def size_reaching(wanted: float, size: Floats, reached: Floats) -> float:
    """Size at which a curve first reaches what is wanted, NaN where it does not."""
    enough = np.flatnonzero(reached >= wanted)
    if not len(enough):
        return np.nan
    logs, first = np.log(size), enough[0]
    if first == 0:
        return round(np.exp(logs[0]))
    low, high = reached[first - 1], reached[first]
    # A size at which nothing could be estimated says nothing of the way up.
    part = (wanted - low) / (high - low) if np.isfinite(low) else 1.0
    return float(np.ceil(np.exp(logs[first - 1] + part * (logs[first] - logs[first - 1])) - 1e-6))
