"""Maximum-likelihood meta-d′ of every cell, after Maniscalco & Lau.

Count table (cell, stimulus, response, rating) → Dataset (cell). d′ and c come from the type-1
table; then meta-d′ and the type-2 criteria maximise the likelihood of the ratings, given stimulus
and response. Source: Maniscalco & Lau (2012, 2014).
"""

from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs, of_type
from hmetad.base.checks import check_that, is_number
from hmetad.base.errors import ModelError, TooFewError
from hmetad.base.notice import copy_notices
from hmetad.counts.checks import TYPE1_DIMS, has_more_options
from hmetad.counts.reversed_scales import with_scale_notices
from hmetad.counts.tables import high_ratio_notices
from hmetad.measures.sdt import Correction, at_chance, corrected
from hmetad.mle.card import fit_card, fit_cells
from hmetad.mle.estimates import (
    clearly_high,
    label_estimates,
    moved_by_correction,
    problems,
    table_of,
)
from hmetad.mle.maximum import (
    SLOPE,
    CellEstimates,
    Ratings,
    Type1,
    errors_with_scale,
    most_likely_scale,
    zs_of,
)
from hmetad.specs.loading import model_of
from hmetad.specs.spec import ModelSpec, with_changes
from hmetad.specs.study_design import Columns, study_of

type Floats = NDArray[np.float64]

criterion = of_type(Literal["relative", "absolute"])
scale_or_estimate = check_that(
    lambda s: s == "estimate" or (is_number(s) and 0 < s < np.inf),
    "a number above 0, or 'estimate'",
)
# Of `Maximum`, what comes per response where each has its own meta-d′.
FIELDS = ("m", "value", "slope", "information", "by_offset", "by_ratio")


@check_inputs(skip=("counts",), meta_criterion=criterion, s=scale_or_estimate)
def fit_mle(
    counts: xr.DataArray,
    model: str | ModelSpec | None = None,
    *,
    conditions: Columns = (),
    groups: Columns = (),
    predictors: Columns = (),
    correlated: str | None = None,
    meta_criterion: str = "relative",
    s: float | Literal["estimate"] = 1.0,
    response_conditional: bool = False,
    correction: Correction = "none",
    starts: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    r"""Maximum-likelihood d′, c, meta-d′, M and type-2 criteria, per cell; or any model card.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), K ≥ 2; further dims are kept. Or a
        table of more options with their labels, or dims (cell, correct, rating) with the coordinate
        ``options``, as returned by `count_correct`: these are fitted like a model.
    model : str or ModelSpec, optional
        Name or path of a card, or what `load_model` returned; all its parameters are maximised
        jointly. Formulas constrain cells: ``c = "0 + subject"``; they have no random effects.
        Without a model, meta-d′ is fitted given d′ and c, as described here; tables of more options
        by the card ``"alternatives_biased"``, of correct answers and errors by ``"alternatives"``,
        both with M as a parameter.
    conditions, groups, predictors, correlated : optional
        As in `fit`, for one observer: without a population, effects are effects of cells. They need
        a model, by default ``"individual"``.
    meta_criterion : {"relative", "absolute"}, optional
        κ = M·c, or κ = c.
    s : float or "estimate", optional
        σ_S1/σ_S2 of the evidence; 1 for equal variances. ``"estimate"``: the s of each cell that
        maximises the likelihood of its ratings, between .22 and 4.5. Ratings contain little
        information on it: several hundred trials are too few, especially with an M for each
        response.
    response_conditional : bool, optional
        An M for each response: meta_d, m_ratio, log_m and meta_c have dim response.
    correction : {"none", "loglinear", "cell"} or float, optional
        Amount added to the counts, as in `sdt`; here every rating gets an equal part of it.
    starts, seed : int, optional
        With a model: number of starting points, and the seed of all except the first. By default
        one, and four for each parameter next to d′, c and the criteria.

    Returns
    -------
    Dataset
        Per cell: ``dprime``, ``c``, ``meta_d``, ``meta_c`` (κ) and ``criteria`` (response,
        criterion), in SD of the S1 evidence; ``m_ratio``, ``log_m`` (NaN where M or d′ ≤ 0);
        ``loglik`` (nat), of ratings given stimulus and response; ``dprime_se``, ``c_se``,
        ``meta_d_se``, ``m_ratio_se``, ``log_m_se``; ``converged``; ``s`` and ``s_se`` if s is
        estimated. The criterion of an unused rating equals its neighbour, or is infinite beyond the
        last.

        With a model, the quantities of its likelihood with standard errors, and for each ``unit``,
        a cell or the cells that share parameters: ``loglik`` (nat), of responses and ratings;
        ``parameters``, their number; ``trials``; ``aic``, ``aicc``, ``bic``; ``converged``;
        ``at_edge``, whether counts do not determine a parameter, and ``edge``, its name.
        ``of_unit`` has the unit of a cell. If effects of items are integrated out, there are with
        standard errors, under the names of the posterior, their standard deviations
        ``dprime_1|item_sigma`` and ``log_spread_1|item_sigma``, correlation ``1|item_corr``, and
        loadings where observers have them, ``log_loading_dprime|item`` (cell). Attrs then have
        ``elpd_equal``, ``elpd_loadings`` and their difference with its standard error, by item, of
        models in which observers follow these effects equally, or each with loadings (from three
        observers of an item). A card with ``loadings = true`` uses loadings if the difference is
        above two standard errors. Loadings have their prior, Normal(0, .5) of their logarithms.

    Raises
    ------
    InputError
        If the table has no stimulus or no ratings, or an argument is invalid; if a model has random
        effects or priors in its likelihood, or an argument contradicts its card.

    Notes
    -----
    d′ = z(H)/s − z(F) and c = −z(F) − d′/2. Given both, meta-d′ and the criteria maximise

    .. math:: \ell = \sum_{s,r,k} n_{srk} \log P(k \mid s, r)

    Their covariance is the inverse of the observed information, to which the uncertainty of d′
    and c, and of s where it is estimated, is added by the delta method, through κ and through
    M = meta-d′/d′. An estimated s is that of the meta-d′ model, not the slope of the zROC, which
    assumes M = 1.

    The likelihood has no maximum if no error is rated above any correct response (or none below),
    in each response that has both: it increases as meta-d′ goes to ±∞. Estimates are then NaN,
    `converged` is False, and a notice ``"meta-d-unbounded"`` reports this. Intervals of
    `resample_interval` exclude such tables, and report their number.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> b = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    >>> fitted = fit_mle(b)
    >>> fitted["meta_d"].round(6).item(), fitted["m_ratio"].round(6).item()
    (1.460669, 0.971153)
    >>> noisy = fit_mle(b, "gaussian_noise")
    >>> noisy["noise"].round(2).item(), noisy["aic"].round(1).item()
    (0.29, 981.0)
    """
    words = conditions, groups, predictors, correlated
    if model is not None or has_options(counts) or any(words):
        if (meta_criterion, s, response_conditional) != ("relative", 1.0, False):
            step = "Set it in the card: load_model('individual', meta_criterion='absolute')."
            got = "meta_criterion, s or response_conditional"
            raise ModelError("model", got, "a model alone", step)
        options: dict[str, Any] = {"correction": correction, "starts": starts, "seed": seed}
        counts, spec, design = study_of(counts, model_of(counts, model), *words)
        if model is not None or design:
            return fit_card(counts, spec, **options).assign_attrs(design)
        # The card of the table, whose M may then be negative: no prior bars it.
        return fit_cells(counts, with_changes(spec, scale="m"), **options)
    how = (meta_criterion, s, response_conditional)
    result, has_z = fitted_table(counts, correction, *how)
    found = problems(result, has_z)
    # Not for resampled tables: the sign of confidence, and the effect of the correction.
    if set(counts.dims) <= {"cell", *TYPE1_DIMS}:
        found = [*at_chance(counts), *found]
        found += high_ratio_notices(clearly_high(result), counts)
        if correction != "none":
            raw, _ = fitted_table(counts, "none", *how)
            found += moved_by_correction(result["m_ratio"], raw["m_ratio"], result["m_ratio_se"])
    return with_scale_notices(copy_notices(result, counts, found), counts)


def fitted_table(
    counts: xr.DataArray,
    correction: Correction,
    meta_criterion: str,
    s: float | str,
    response_conditional: bool,
) -> tuple[xr.Dataset, xr.DataArray]:
    """Estimates of all cells of a table, and which of them have z of both type-1 rates."""
    ordered, table = table_of(counts, "The meta-d′ model")
    ratings = table.shape[-1]
    if s == "estimate" and response_conditional and ratings < 3:
        raise TooFewError("s", "'estimate' for each response with two ratings", "three at least")
    z = zs_of(table, correction)
    responses = ((True, False), (False, True)) if response_conditional else ((True, True),)
    # Every rating gets an equal part of what a correction adds to a response.
    fitted = Ratings(corrected(table, correction), z, meta_criterion, responses)
    if s == "estimate":
        estimates = with_scale(fitted)
    else:
        estimates = assemble(fitted.estimates(np.full(len(table), float(s))))
    result = label_estimates(estimates, "fit_mle", ordered, per_response=response_conditional)
    result.attrs |= {
        "meta_criterion": meta_criterion,
        "s": s if isinstance(s, str) else float(s),
        "response_conditional": int(response_conditional),
        "correction": correction if isinstance(correction, str) else float(correction),
    }
    # d′ is defined, but an s that is to be estimated leaves it open there.
    has_z = np.isfinite(z.hits + z.false_alarms).reshape(ordered.shape[:-3])
    return result, result["converged"].copy(data=has_z)


def has_options(counts: xr.DataArray) -> bool:
    """Whether this is a table of right and wrong choices, or of more than two options."""
    is_right = isinstance(counts, xr.DataArray) and "correct" in counts.dims
    return is_right or has_more_options(counts)


def assemble(fitted: CellEstimates) -> dict[str, Floats]:
    """All estimates and standard errors; those of meta-d′ have a last dim, the sides."""
    type1, rule, sides = fitted.type1, fitted.rule, fitted.sides
    stacked = {name: np.stack([getattr(x, name) for x in sides], axis=-1) for name in FIELDS}
    d, c = type1.d[:, None], type1.c[:, None]
    safe_d = np.where(d == 0, np.nan, d)
    m = stacked["m"]
    kappa = rule.offset[:, None] + rule.ratio[:, None] * m
    if rule.is_relative:
        by_d, by_c = -stacked["by_ratio"] * c / safe_d**2, stacked["by_ratio"] / safe_d
    else:
        by_d, by_c = np.zeros_like(m), stacked["by_offset"]
    own = 1 / stacked["information"]
    ratio = m / safe_d
    var_m = own + quadratic(by_d, by_c, type1)
    var_ratio = own / safe_d**2 + quadratic((by_d - ratio) / safe_d, by_c / safe_d, type1)
    m_ratio_se = np.sqrt(var_ratio)
    # Where d′ is below 0, log M has no meaning, also where meta-d′ is negative too.
    is_defined = (ratio > 0) & (d > 0)
    logarithm = np.log(np.where(is_defined, ratio, np.nan))
    edges = np.stack([sides[0].edges[:, 0], sides[-1].edges[:, 1]], axis=1)
    inner = np.broadcast_to(kappa, (len(kappa), 2))[:, :, None]
    return {
        "dprime": type1.d,
        "c": type1.c,
        "meta_d": m,
        "m_ratio": ratio,
        "log_m": logarithm,
        "meta_c": kappa,
        "criteria": inner + np.array([-1.0, 1.0])[:, None] * edges[:, :, 1:],
        "loglik": stacked["value"].sum(axis=-1),
        "converged": (stacked["slope"] <= SLOPE).all(axis=-1),
        "dprime_se": np.sqrt(type1.var_d),
        "c_se": np.sqrt(type1.var_c),
        "meta_d_se": np.sqrt(var_m),
        "m_ratio_se": m_ratio_se,
        "log_m_se": m_ratio_se / np.where(is_defined, ratio, np.nan),
    }


def with_scale(fitted: Ratings) -> dict[str, Floats]:
    """Estimates with the most likely s, and standard errors that include its own."""
    scale = most_likely_scale(fitted)
    s = np.exp(scale.log_s)
    estimates, errors = assemble(fitted.estimates(s)), errors_with_scale(fitted, scale)
    has_log = np.isfinite(estimates["log_m"])
    return estimates | {
        "s": s,
        "s_se": s * errors["log_s"],
        "converged": np.where(scale.is_at_bound, False, estimates["converged"]),
        "dprime_se": errors["dprime"],
        "c_se": errors["c"],
        "meta_d_se": errors["meta_d"],
        "m_ratio_se": errors["m_ratio"],
        "log_m_se": errors["m_ratio"] / np.where(has_log, estimates["m_ratio"], np.nan),
    }


def quadratic(by_d: Floats, by_c: Floats, type1: Type1) -> Floats:
    """Variance that d′ and c pass on, by the delta method."""
    var_d, var_c, cov = type1.var_d[:, None], type1.var_c[:, None], type1.cov[:, None]
    return by_d**2 * var_d + by_c**2 * var_c + 2 * by_d * by_c * cov
