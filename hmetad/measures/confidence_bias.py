"""Bias of confidence: how much too sure ratings are, and how far out the criteria of them lie.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating), and the
probability of each rating → Dataset (cell). Estimates or draws with κ and type-2 criteria →
DataArray with the same dims but the criterion. Source: Lichtenstein, Fischhoff & Phillips (1982);
O'Neill & Fleming (2026), the package hmetad for R.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import arrays_of_numbers, check_inputs, describe_value, refuse_same_names
from hmetad.counts.tables import type2_counts
from hmetad.errors import InputError
from hmetad.measures.results import describe, ratio
from hmetad.notice import notice_attrs, notices, with_notices
from hmetad.results import attrs_of

__all__ = ["meta_delta", "overconfidence"]

type Floats = NDArray[np.float64]

NEEDED = ("meta_c", "criteria")


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


@check_inputs(skip=("estimates",))
def meta_delta(estimates: xr.Dataset | xr.DataTree, *, by_response: bool = False) -> xr.DataArray:
    r"""Mean distance of the type-2 criteria from the criterion at the meta level.

    Parameters
    ----------
    estimates : Dataset or DataTree
        With ``meta_c`` and ``criteria``: what `hmetad.fit`, `hmetad.predict` or `hmetad.fit_mle`
        returned for a card of meta-d′.
    by_response : bool, optional
        A distance for each response: dim response is kept. By default the mean of the two.

    Returns
    -------
    DataArray
        ``meta_delta``, in SDs of the evidence, with the other dims and the notices of the
        estimates: of a fit (chain, draw, cell), as `contrast`, `decide` and `rank` take it. The
        larger, the lower confidence is.

    Raises
    ------
    InputError
        If the estimates have no ``meta_c`` and ``criteria``.

    Notes
    -----
    With κ the criterion at the meta level and :math:`t_{r,k}` the K − 1 criteria of response r:

    .. math:: \Delta_r = \frac1{K-1} \sum_k |t_{r,k} - \kappa|

    Criteria are on the scale of meta-d′, so that meta-Δ does not depend on how sensitive confidence
    is, as the mean rating does; ratings have to be the same. Source: O'Neill & Fleming (2026).

    Examples
    --------
    >>> kappa = xr.DataArray([0.1], {"cell": ["a"]})
    >>> t = xr.DataArray([[[-0.5, -1.0], [0.4, 1.2]]], dims=("cell", "response", "criterion"))
    >>> estimates = xr.Dataset({"meta_c": kappa, "criteria": t})
    >>> meta_delta(estimates).values, meta_delta(estimates, by_response=True).values
    (array([0.775]), array([[0.85, 0.7 ]]))
    """
    values = variables_of(estimates)
    distance = abs(values["criteria"] - values["meta_c"]).mean("criterion", skipna=False)
    found = distance if by_response else distance.mean("response", skipna=False)
    order = [dim for dim in values["criteria"].dims if dim in found.dims]
    said = attrs_of("meta_delta") | notice_attrs(notices(estimates))
    refuse_same_names(found.coords, ["meta_delta"])
    return found.transpose(*order).rename("meta_delta").assign_attrs(said)


def variables_of(estimates: object) -> xr.Dataset:
    """κ and the criteria, or an error."""
    held = estimates
    if isinstance(held, xr.DataTree) and "posterior" in held.children:
        held = held["posterior"].to_dataset()
    allowed = "estimates or draws of meta-d′, with meta_c and criteria"
    step = "Pass what fit, predict or fit_mle returns for a card of meta-d′."
    if not isinstance(held, xr.Dataset):
        raise InputError("estimates", describe_value(estimates), allowed, step)
    lacking = [name for name in NEEDED if name not in held]
    if lacking or not {"response", "criterion"} <= set(held["criteria"].dims):
        got = f"a Dataset without {', '.join(lacking) or 'dims response and criterion'}"
        raise InputError("estimates", got, allowed, step)
    return held[list(NEEDED)]
