"""How many trials a question about M needs.

Truth, design and ROPE → Dataset (trials, verdict): how often studies of each size come to which
verdict, and how wide their intervals are.
Source: Kruschke (2013), on planning by the interval and the ROPE.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.arguments import arrays_of_numbers, check_inputs, seed_or_none
from hmetad.compare.verdicts import check_arguments, interval_words
from hmetad.counts.checks import open_probability, whole_number
from hmetad.errors import InputError
from hmetad.memory import refuse_memory
from hmetad.mle.meta_d import fit_mle
from hmetad.results import attrs_of
from hmetad.simulate.outcomes import VERDICTS, study_results
from hmetad.simulate.simulate import simulate_counts

__all__ = ["plan_trials"]

type Floats = NDArray[np.float64]


@check_inputs(
    dprime=arrays_of_numbers,
    m_ratio=arrays_of_numbers,
    c=arrays_of_numbers,
    gaps=arrays_of_numbers,
    seed=seed_or_none,
)
def plan_trials(
    *,
    trials: Sequence[int] = (100, 200, 400, 800, 1600),
    dprime: ArrayLike = 1.5,
    m_ratio: ArrayLike = (1.0, 0.8),
    c: ArrayLike = 0.0,
    ratings: int = 4,
    subjects: int = 1,
    between_sd: float = 0.0,
    correlation: float = 0.0,
    rope: tuple[float, float] | None = None,
    ci_prob: float = 0.95,
    comparisons: int = 1,
    gaps: ArrayLike | None = None,
    meta_criterion: str = "relative",
    n: int = 1000,
    seed: int | None = None,
) -> xr.Dataset:
    r"""What studies of several sizes would find, by simulating and fitting them.

    Parameters
    ----------
    trials : sequence of int, shape (sizes,)
        Trials of a cell, that is of one subject in one condition; at least 2.
    dprime, c : float or array, shape (conditions,)
        True sensitivity (above 0) and criterion.
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
    rope : tuple of float
        Region of practical equivalence of the difference in log M, or of log M itself where there
        is one condition. It may be left out there, and only precision is planned.
    ci_prob, comparisons
        As in `decide`.
    gaps : array, optional
        Distances of the criteria, as in `simulate_counts`.
    meta_criterion : {"relative", "absolute"}
        κ = M·c or κ = c, of the truth and of the fit.
    n : int
        Studies simulated for each number of trials.
    seed : int, optional
        The same seed gives the same plan.

    Returns
    -------
    Dataset
        By trials: ``half_width`` of the interval of what is judged, on the scale of log M. By
        trials and verdict, with a ROPE: ``probability`` of "different", "negligible",
        "inconclusive", and "unreliable", where a study has no log M to judge. By trials and
        condition: ``log_m_half_width`` of a single cell, ``bias`` of M, and ``undefined``, the
        share of cells without log M since M̂ ≤ 0 or there is no maximum. Each with its Monte
        Carlo error, ``*_se``. attrs: the arguments (``gaps`` as JSON, where given), and with a
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
    two conditions); subjects without log M are left out of it, which `undefined` and `bias` show.
    A posterior of the same data gives much the same interval; in a hierarchical model it is
    narrower, where subjects have few trials. Half-widths are medians, since a study with M̂ near 0
    has an interval without bounds.

    Examples
    --------
    >>> plan = plan_trials(trials=[200, 6400], rope=(-0.05, 0.05), n=200, seed=1)
    >>> plan["probability"].sel(verdict="different").round(1).values.tolist()
    [0.0, 0.8]
    """
    sizes = planned_sizes(trials)
    truth = true_values(m_ratio, dprime, c)
    check_study(truth, subjects, between_sd, correlation, rope)
    studies = whole_number("n", n, 2)
    # Counts of two stimuli, two responses and each rating, of all studies at once.
    tables = studies * subjects * len(truth["m_ratio"])
    refuse_memory("n", str(n), 8 * 4 * ratings * tables)
    confidence = open_probability("ci_prob", ci_prob)
    check_arguments(rope or (-1.0, 1.0), 0.0, confidence, comparisons)
    rng = np.random.default_rng(seed)
    level = 1 - (1 - confidence) / comparisons
    found = []
    for number in sizes:
        log_m = subjects_log_m(truth["m_ratio"], (studies, subjects), between_sd, correlation, rng)
        cells = simulate_cells(
            truth, log_m, number, rng, ratings=ratings, gaps=gaps, meta_criterion=meta_criterion
        )
        found.append(study_results(cells, np.exp(log_m), rope, level))
    result = assemble_results(found, sizes, truth["m_ratio"], rope)
    result.attrs |= {
        "judged": "log M" if len(truth["m_ratio"]) == 1 else "difference in log M",
        **{name: values.tolist() for name, values in truth.items() if name != "m_ratio"},
        **{"ratings": ratings, "subjects": subjects, "between_sd": between_sd},
        **{"correlation": correlation, "ci_prob": confidence, "comparisons": comparisons},
        **{"meta_criterion": meta_criterion, "n": studies, "seed": str(seed)},
        **({} if gaps is None else {"gaps": json.dumps(np.asarray(gaps).tolist())}),
    }
    return result


def planned_sizes(trials: Sequence[int]) -> list[int]:
    """Numbers of trials to plan for, of which there is one at least."""
    sizes = [whole_number("trials", number, 2) for number in np.atleast_1d(trials).tolist()]
    if not sizes:
        raise InputError("trials", "none", "at least one number of trials")
    return sizes


def true_values(m_ratio: ArrayLike, dprime: ArrayLike, c: ArrayLike) -> dict[str, Floats]:
    """True M, d′ and c of each condition."""
    ratios = np.atleast_1d(np.asarray(m_ratio, dtype=float))
    if ratios.ndim != 1 or len(ratios) > 2 or not (ratios > 0).all():
        raise InputError("m_ratio", repr(m_ratio), "one M above 0, or two to compare")
    values = {"m_ratio": ratios}
    for name, given in (("dprime", dprime), ("c", c)):
        array = np.asarray(given, dtype=float)
        if array.shape not in ((), ratios.shape):
            allowed = f"one number, or {len(ratios)}: as many as there are M"
            raise InputError(name, repr(given), allowed)
        values[name] = np.broadcast_to(array, ratios.shape)
    if not (values["dprime"] > 0).all():
        raise InputError("dprime", repr(dprime), "d′ above 0", "M is meta-d′/d′.")
    return values


def check_study(
    truth: dict[str, Floats],
    subjects: int,
    between_sd: float,
    correlation: float,
    rope: tuple[float, float] | None,
) -> None:
    """Refuse studies that cannot be, or not be judged."""
    whole_number("subjects", subjects, 1)
    if not 0 <= between_sd < np.inf:
        raise InputError("between_sd", repr(between_sd), "a number of at least 0")
    if between_sd > 0 and subjects == 1:
        step = "The mean of a population is not learnt from one subject."
        raise InputError("between_sd", f"{between_sd:g} of one subject", "two subjects", step)
    if not -1 <= correlation <= 1:
        raise InputError("correlation", repr(correlation), "a number from -1 to 1")
    if correlation and len(truth["m_ratio"]) == 1:
        raise InputError("correlation", f"{correlation:g} of one condition", "two conditions")
    if correlation and not between_sd:
        step = "Subjects who all have the same M have nothing to correlate: add between_sd=."
        raise InputError("correlation", f"{correlation:g} without between_sd", "both", step)
    if rope is None and len(truth["m_ratio"]) > 1:
        step = "Write both limits, as in rope=(-0.05, 0.05), or plan for one condition."
        raise InputError("rope", "none", "(lower, upper) to judge a difference by", step)


def subjects_log_m(
    m_ratio: Floats,
    shape: tuple[int, int],
    between_sd: float,
    correlation: float,
    rng: np.random.Generator,
) -> Floats:
    """True log M, (conditions, studies, subjects), normal between subjects."""
    scores = rng.standard_normal((len(m_ratio), *shape))
    if len(m_ratio) > 1:
        scores[1] = correlation * scores[0] + np.sqrt(1 - correlation**2) * scores[1]
    return np.log(m_ratio)[:, None, None] + between_sd * scores


def simulate_cells(
    truth: dict[str, Floats],
    log_m: Floats,
    trials: int,
    rng: np.random.Generator,
    *,
    meta_criterion: str,
    **design: Any,
) -> dict[str, Floats]:
    """Estimates from counts of every subject and condition, in the shape of `log_m`."""
    d, c = (
        np.broadcast_to(truth[name][:, None, None], log_m.shape).ravel() for name in ("dprime", "c")
    )
    counts = simulate_counts(
        d,
        c,
        np.exp(log_m).ravel(),
        trials=trials,
        meta_criterion=meta_criterion,
        seed=rng,
        **design,
    )
    fitted = fit_mle(counts, meta_criterion=meta_criterion)
    names = ("log_m", "log_m_se", "m_ratio")
    return {name: fitted[name].to_numpy().reshape(log_m.shape) for name in names}


def assemble_results(
    found: list[dict[str, ArrayLike]],
    trials: list[int],
    m_ratio: Floats,
    rope: tuple[float, float] | None,
) -> xr.Dataset:
    """Results of all sizes, labelled."""
    conditions = ["first", "second"][: len(m_ratio)]
    coords: dict[str, Any] = {"trials": trials, "condition": conditions}
    coords["true_m_ratio"] = ("condition", m_ratio)
    if rope is not None:
        coords["verdict"] = list(VERDICTS)
    own = {"probability": "verdict", "half_width": ""}
    data = {}
    for name in found[0]:
        further = own.get(name.removesuffix("_se"), "condition")
        dims = ("trials", further) if further else ("trials",)
        data[name] = (dims, np.array([one[name] for one in found], dtype=float))
    result = xr.Dataset(data, coords)
    for name in data:
        result[name].attrs["long_name"] = attrs_of(name, "plan_trials")["long_name"]
    if rope is not None:
        true = np.atleast_1d(np.log(m_ratio) @ np.array([1.0, -1.0])[: len(m_ratio)])
        result.attrs = {"rope": list(rope), "truth": str(interval_words(true, true, rope)[0])}
    return result
