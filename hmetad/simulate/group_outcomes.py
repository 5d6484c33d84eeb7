"""What studies of people of one size found, from the intervals of their fits.

Results of studies by name, truth and ROPE → shares of verdicts, half-width, coverage and bias, each
with its Monte Carlo error.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hmetad.compare.verdicts import interval_words
from hmetad.simulate.group_study import NUMBERS, is_reliable
from hmetad.simulate.outcomes import VERDICTS, median_and_error, share_error
from hmetad.simulate.recovery import summaries

__all__ = ["summarise_studies"]

type Floats = NDArray[np.float64]


def summarise_studies(
    studies: Sequence[Mapping[str, float]], truth: float, rope: tuple[float, float] | None
) -> dict[str, ArrayLike]:
    """What studies of one size found.

    Parameters
    ----------
    studies : sequence of mapping
        Results of `run_study`.
    truth : float
        True value of what is judged.
    rope : tuple of float, or None
        Without one there are no verdicts.

    Returns
    -------
    dict of str to float or array
        ``unreliable``, a share of all studies; ``half_width``, ``coverage`` and ``bias`` of those
        that are reliable, NaN where none is; with a ROPE ``probability`` (verdicts,); each with
        ``*_se``.

    Examples
    --------
    >>> good = {"rhat": 1.0, "ess": 900.0, "divergences": 0.0}
    >>> one = {"mean": 0.3, "lower": 0.1, "upper": 0.5, **good}
    >>> found = summarise_studies([one, {**one, "rhat": 1.3}], 0.2, (-0.05, 0.05))
    >>> found["probability"].tolist(), round(found["bias"], 3)
    ([0.5, 0.0, 0.0, 0.5], 0.1)
    """
    found = {name: np.array([study[name] for study in studies]) for name in NUMBERS}
    is_good = np.array([is_reliable(study) for study in studies])
    mean, lower, upper = (found[name][is_good] for name in ("mean", "lower", "upper"))
    width, width_se = median_and_error((upper - lower) / 2)
    error = summaries(np.where(is_good, found["mean"] - truth, np.nan))
    bad = np.mean(~is_good)
    covers = np.mean((lower <= truth) & (truth <= upper)) if len(mean) else np.nan
    result: dict[str, ArrayLike] = {
        "half_width": width,
        "half_width_se": width_se,
        "coverage": covers,
        "coverage_se": share_error(covers, max(len(mean), 1)),
        "bias": float(error["bias"]),
        "bias_se": float(error["bias_se"]),
        "unreliable": bad,
        "unreliable_se": share_error(bad, len(studies)),
    }
    if rope is not None:
        words = np.full(len(studies), "unreliable", dtype="<U12")
        words[is_good] = interval_words(lower, upper, rope)
        share = np.array([np.mean(words == verdict) for verdict in VERDICTS])
        result |= {"probability": share, "probability_se": share_error(share, len(studies))}
    return result
