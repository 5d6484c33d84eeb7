"""Over-confidence of ratings that stand for probabilities.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating), and the
probability of each rating → Dataset (cell). Source: Lichtenstein, Fischhoff & Phillips (1982).
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import arrays_of_numbers, check_inputs, describe_value
from hmetad.counts.tables import type2_counts
from hmetad.errors import InputError
from hmetad.measures.results import describe, ratio
from hmetad.notice import notices, with_notices

__all__ = ["overconfidence"]

type Floats = NDArray[np.float64]


@check_inputs(skip=("counts",), probabilities=arrays_of_numbers)
def overconfidence(counts: xr.DataArray, *, probabilities: Sequence[float]) -> xr.Dataset:
    r"""Mean confidence as a probability, accuracy, and their difference, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating) or type-2 table with dims (cell,
        correct, rating); further dims are kept.
    probabilities : sequence of float
        What each rating says of the probability of being right, rising, from 0 to 1: for ratings 1
        to 4 of a choice of two with the ends "guessed" and "sure", ``[1/2, 2/3, 5/6, 1]``. Where a
        scale had no such words, the difference depends on what you take it to say.

    Returns
    -------
    Dataset
        Per cell ``mean_confidence``, ``accuracy`` and ``overconfidence``, their difference, on the
        scale of probabilities; above 0 is too sure. NaN where there are no trials. The attr
        ``probabilities`` has those of the ratings.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, or `probabilities` are not one for each rating,
        rising, between 0 and 1.

    Notes
    -----
    With shares f_k of rating k, whose probability is p_k, and share of right trials a:

    .. math:: \text{overconfidence} = \sum_k f_k p_k - a

    Confidence that was stated as a probability needs no ratings: `calibration` takes it as it is.
    Of a fit, posterior draws of both parts are those of ``"confidence_mean"`` and ``"share_right"``
    in `hmetad.bayes.predict_measures`.

    Examples
    --------
    >>> judged = xr.DataArray([[15, 5], [5, 15]], dims=["correct", "rating"])
    >>> overconfidence(judged, probabilities=[0.5, 1])["overconfidence"].item()
    0.25
    """
    table = type2_counts(counts)
    p = rating_probabilities(probabilities, table.sizes["rating"])
    wrong, right = (table.isel(correct=side).to_numpy().astype(float) for side in (0, 1))
    trials = (wrong + right).sum(axis=-1)
    sure, share = ratio((wrong + right) @ p, trials), ratio(right.sum(axis=-1), trials)
    values = {"mean_confidence": sure, "accuracy": share, "overconfidence": sure - share}
    like = table.isel(correct=0, rating=0, drop=True)
    found = {name: describe(like, name, x, "overconfidence") for name, x in values.items()}
    return with_notices(xr.Dataset(found, attrs={"probabilities": p.tolist()}), notices(table))


def rating_probabilities(values: Sequence[float], ratings: int) -> Floats:
    """Probabilities of the ratings as an array, or an error."""
    p = np.asarray(values, dtype=float)
    is_rising = p.ndim == 1 and bool((np.diff(p) > 0).all()) and bool(((p >= 0) & (p <= 1)).all())
    if p.shape != (ratings,) or not is_rising:
        allowed = f"{ratings} rising numbers between 0 and 1, one for each rating"
        raise InputError("probabilities", describe_value(values), allowed)
    return p
