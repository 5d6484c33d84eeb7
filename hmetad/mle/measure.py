"""Every measure of a table in one Dataset, with maximum-likelihood meta-d′ on request.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → Dataset
(cell).
"""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import cost_or_none, seed_or_none
from hmetad.base.labels import check_same_names
from hmetad.base.lazy import import_on_call
from hmetad.base.notice import notices, with_notices
from hmetad.base.results import attrs_of
from hmetad.counts.tables import type2_counts
from hmetad.measures.catalogue import measures_of
from hmetad.measures.expectation import relative_to_sdt
from hmetad.measures.sdt import Correction

NOISE = ("meta_noise", "meta_noise_se", "meta_uncertainty", "meta_uncertainty_se")
# Its likelihood has one maximum in all cases that were seen.
NOISE_STARTS = 3
# Compiled likelihoods take a second to import, and most measures need none.
fit_mle: Callable[..., Any] = import_on_call("hmetad.mle.meta_d", "fit_mle")
FITTED = ("meta_d", "meta_d_se", "m_ratio", "m_ratio_se", "log_m", "log_m_se")


@check_inputs(skip=("counts",), penalty=cost_or_none, seed=seed_or_none)
def measure(
    counts: xr.DataArray,
    *,
    meta_d: bool = False,
    expected: bool = False,
    meta_noise: bool = False,
    errors: bool = True,
    correction: Correction = "none",
    debias: int = 0,
    permutations: int = 0,
    penalty: float | None = None,
    seed: int | None = None,
) -> xr.Dataset:
    """Every measure that applies to the table, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating) or type-2 table with dims (cell,
        correct, rating); further dims are kept.
    meta_d : bool, optional
        Whether to add meta_d, m_ratio, log_m and meta_d_excess, meta-d′ − d′, of `fit_mle`, which
        need a stimulus or the number of options; with the latter alone also dprime.
    expected : bool, optional
        Whether to add the values of type-2 measures expected under signal detection, and the
        observed values relative to them (`hmetad.measures.relative_to_sdt`).
    meta_noise : bool, optional
        Whether to add meta_noise and meta_uncertainty of ``fit_mle(counts, "lognormal_noise")``.
    errors : bool, optional
        Whether to keep standard errors; resampled measures do not need them.
    correction : {"none", "loglinear", "cell"} or float, optional
        Of the type-1 measures and the fit, as in `sdt`.
    debias, permutations, seed : int, optional
        Of the information measures, as in `hmetad.information.meta_information`.
    penalty : float, optional
        Cost of an error, at least 0; a correct answer scores 1 and an abstention 0. By default 1
        for a table with abstentions, and no score without them.

    Returns
    -------
    Dataset
        Number of trials and proportion of correct ones; with abstentions or a penalty ``coverage``
        (proportion of trials answered), ``expected_score`` and ``effective_reliability`` (the score
        with a penalty of 1); the measures of `sdt` if there is a stimulus; the type-2 measures of
        `hmetad.measures`; and the measures of `hmetad.information.meta_information`.
        ``hmetad.base.results.results()`` lists them, with ``measured``. Each has attrs
        ``long_name``, ``units`` and ``source``. `fit_dmc` and `uvsdt` are not included.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, or an argument is none of the above.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> counts = from_nr([84, 56, 48, 12], [4, 56, 64, 76])
    >>> measures = measure(counts)
    >>> measures["dprime"].round(3).item(), measures["auroc2"].round(3).item()
    (1.049, 0.719)
    >>> measures["rmi"].round(3).item()
    0.499
    >>> measure(counts, meta_d=True)["m_ratio"].round(3).item()
    1.878
    """
    drawn = {"debias": debias, "permutations": permutations, "seed": seed}
    found = measures_of(counts, correction=correction, penalty=penalty, **drawn)
    if expected:
        found = found.assign(relative_to_sdt(counts, correction=correction).data_vars)
    if meta_d:
        fitted = fit_mle(counts, correction=correction).drop_vars("of_unit", errors="ignore")
        check_same_names(found.coords, ["meta_d_excess"])
        excess = fitted["meta_d"] - fitted["dprime"]
        own = {"meta_d_excess": excess.assign_attrs(attrs_of("meta_d_excess", "measure"))}
        # Without a stimulus d′ comes from the fit too.
        names = [name for name in ("dprime", "dprime_se") if name not in found]
        found = with_notices(found.assign({**fitted[[*names, *FITTED]], **own}), notices(fitted))
    if meta_noise:
        fitted = fit_mle(counts, "lognormal_noise", correction=correction, starts=NOISE_STARTS)
        noise = fitted[list(NOISE)].drop_vars("of_unit")
        found = with_notices(found.assign(noise.data_vars), notices(fitted))
    if errors:
        return found
    return found.drop_vars([x for x in map(str, found) if x.endswith("_se") or x[:4] == "cov_"])


@check_inputs()
def measure_scales(
    count: Callable[..., xr.DataArray], scales: Sequence[int] = (2, 3, 4, 6)
) -> xr.Dataset:
    """Every measure of the same trials, with confidence cut into several numbers of ratings.

    Parameters
    ----------
    count : callable
        What makes a table of ``quantiles`` ratings: ``partial(count_trials, trials, by="model")``,
        or of `count_correct`.
    scales : sequence of int, optional
        Numbers of ratings, at least 2 each.

    Returns
    -------
    Dataset
        What `measure` gives, with dims (cell, scale); where there is a stimulus or the number of
        options also ``m_ratio`` and the like; and ``ratings_used``, which equal confidences may
        make fewer than the scale has.

    Raises
    ------
    InputError
        As `count` and `fit_mle`.

    Examples
    --------
    >>> from functools import partial
    >>> import hmetad
    >>> trials = hmetad.simulate_trials(1.5, m_ratio=0.8, trials=2000, ratings=8, seed=1)
    >>> found = measure_scales(partial(hmetad.count_trials, trials), [2, 4])
    >>> found["m_ratio"].sel(cell="all").round(2).values
    array([0.92, 0.83])
    """
    parts = []
    for scale in scales:
        counts = count(quantiles=scale)
        used = (type2_counts(counts).sum("correct") > 0).sum("rating")
        has_m = "correct" not in counts.dims or "options" in counts.coords
        found = measure(counts, meta_d=has_m)
        parts.append(found.assign(ratings_used=used.assign_attrs(attrs_of("ratings_used"))))
    over = pd.Index([*scales], name="scale")
    joined = xr.concat(parts, over, combine_attrs="override").transpose("cell", "scale", ...)
    return with_notices(joined.assign_attrs(notices="[]"), [x for p in parts for x in notices(p)])
