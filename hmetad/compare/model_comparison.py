"""Which model is better: for trials that it has not seen, and for how many people.

Results of `loo` by name → DataFrame, ArviZ's comparison with a column of words. Log evidence
(person, model) → Dataset (model) of frequencies in the population: models are random effects, for
people may differ in the model that their data come from.
Source: Vehtari, Gelman & Gabry (2017) and Sivula et al. (2025) for predictions; Stephan et al.
(2009) and Rigoux et al. (2014) for frequencies.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import arviz_stats
import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.utils import ELPDData
from numpy.typing import NDArray
from scipy.special import digamma, expit, gammaln, logsumexp, polygamma, softmax
from scipy.stats import beta, gamma, norm

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability
from hmetad.base.errors import (
    LabelError,
    NumberError,
    RepeatError,
    ShapeError,
    SourceError,
    TooFewError,
)
from hmetad.base.notice import notice_attrs, notices
from hmetad.base.notice_registry import short_words
from hmetad.base.results import attrs_of, names_of

type Floats = NDArray[np.float64]

# Sivula et al.: below this the models predict alike, and the standard error is unreliable.
SMALL_DIFFERENCE = 4
ERRORS = 2
# From 0.5 on the variational bound has one maximum; see the notes of `model_frequencies`.
LEAST_PRIOR, MOST_PRIOR = 0.5, 1e6
# The step that is left, as a share of the sum of alpha, and the most steps.
TOLERANCE, MOST_STEPS = 1e-10, 1000
# Points in SD of a standard normal distribution at which the exceedance integral is summed.
POINTS = np.linspace(-9, 9, 361)


@check_inputs(skip=("results",))
def compare_models(results: Mapping[str, ELPDData], **compare_kwargs: Any) -> pd.DataFrame:
    """Compare models by their predictions of held-out trials.

    Parameters
    ----------
    results : mapping of str to ELPDData
        What `hmetad.loo` returned for each model, all fitted to one count table:
        ``{"equal variance": loo(fit1), "unequal variance": loo(fit2)}``.
    **compare_kwargs
        Passed on to `arviz.compare`: method, reference, round_to.

    Returns
    -------
    DataFrame
        A row per model, the best first, as `arviz.compare` returns it, unrounded: rank,
        elpd_diff (to the best) and its standard error dse, p_worse, diag_diff, diag_elpd, p,
        elpd, se, weight; and in_words.

    Raises
    ------
    InputError
        If `results` has fits, there is one model, or numbers of trials differ.

    Notes
    -----
    In words: a difference of elpd below 4 is small whatever its standard error; a larger one
    counts if it is more than 2 standard errors. Results with high Pareto k, results of fits with
    divergences, R̂ above 1.01 or a low ESS, and differences from them, are named as unreliable.

    Examples
    --------
    >>> import arviz as az
    >>> import numpy as np
    >>> log_p = np.random.default_rng(1).normal(-1.5, 0.01, (4, 100, 200))
    >>> groups = {"posterior": {"d": log_p[..., 0]}, "log_likelihood": {"y": log_p}}
    >>> one = az.loo(az.from_dict(groups), pointwise=True)
    >>> two = az.loo(az.from_dict({**groups, "log_likelihood": {"y": log_p - 0.1}}), pointwise=True)
    >>> compare_models({"one": one, "two": two})["in_words"].tolist()
    ['predicts best', 'predicts worse: by 20.0, 2 SE are 0.0']
    """
    if not isinstance(results, Mapping) or len(results) < 2:
        got = f"{len(results)} models" if isinstance(results, Mapping) else type(results).__name__
        raise TooFewError("results", got, "a mapping of two names or more to results of loo")
    for name, result in results.items():
        if not isinstance(result, ELPDData):
            step = f"Pass {{{name!r}: hmetad.loo(fit), ...}}."
            raise SourceError("results", f"{type(result).__name__} for {name!r}", "ELPDData", step)
    compared = {
        "trials": {name: result.n_data_points for name, result in results.items()},
        "outcomes": {
            name: result.elpd_i.attrs["outcome"]
            for name, result in results.items()
            if result.elpd_i is not None and "outcome" in result.elpd_i.attrs
        },
    }
    for what, of_models in compared.items():
        if len(set(of_models.values())) > 1:
            step = "Models are compared on the same data: fit them to one count table."
            raise SourceError("results", f"{what} {of_models}", f"the same {what}", step)
    table = arviz_stats.compare(dict(results), **{"round_to": "none", **compare_kwargs})
    doubts = {name: doubts_of(row, results[str(name)]) for name, row in table.iterrows()}
    # A difference rests on both.
    [of_reference] = [doubts[name] for name, row in table.iterrows() if row["elpd_diff"] == 0][:1]
    both = {name: [*dict.fromkeys([*own, *of_reference])] for name, own in doubts.items()}
    return table.assign(in_words=[in_words(row, both[name]) for name, row in table.iterrows()])


def doubts_of(row: pd.Series, result: ELPDData) -> list[str]:
    """Why an estimate is not to be relied on: Pareto k, or a fit that was sampled badly."""
    said = [] if result.elpd_i is None else notices(result.elpd_i)
    sampled = list(dict.fromkeys(short_words(notice.code) for notice in said))
    own = [f"its fit: {', '.join(sampled)}"] if sampled else []
    return [*([str(row["diag_elpd"])] if row["diag_elpd"] else []), *own]


def in_words(row: pd.Series, doubts: Sequence[str]) -> str:
    """Row of a model in words; the reference differs from itself by 0."""
    size, margin = abs(row["elpd_diff"]), ERRORS * row["dse"]
    if size == 0:
        said = "predicts best" if row["rank"] == 0 else "the reference"
    elif size < SMALL_DIFFERENCE:
        said = f"predicts as well: the difference, {size:.1f}, is below {SMALL_DIFFERENCE}"
    elif size <= margin:
        said = f"not told apart: the difference, {size:.1f}, is within 2 SE, {margin:.1f}"
    else:
        word = "worse" if row["elpd_diff"] < 0 else "better"
        said = f"predicts {word}: by {size:.1f}, 2 SE are {margin:.1f}"
    return f"{said}; not to be relied on ({'; '.join(doubts)})" if doubts else said


@check_inputs(ci_prob=probability)
def model_frequencies(
    evidence: pd.DataFrame | xr.DataArray, *, prior: float = 1.0, ci_prob: float = 0.95
) -> xr.Dataset:
    r"""Estimate how frequent each model is in the population, from each participant's evidence.

    Parameters
    ----------
    evidence : DataFrame or DataArray
        Log evidence of models (nat), the larger the better: a row per participant and a column per
        model, or two dims of which one is ``model``. Or an approximation: −BIC/2, −AIC/2, or the
        elpd of each held-out participant. Only differences within a participant matter.
    prior : float, optional
        Concentration of the Dirichlet prior of the frequencies, the same for each model, from 0.5
        to a million. 1: all frequencies are equally likely.
    ci_prob : float, optional
        Probability of the equal-tailed intervals of the frequencies.

    Returns
    -------
    Dataset
        Per model ``frequency``, its posterior mean, with ``frequency_lower`` and
        ``frequency_upper``; ``exceedance``, the probability that it is the most frequent of all;
        ``protected_exceedance``, the same if frequencies may also be equal; ``alpha``, the
        concentration of the posterior. ``omnibus_risk``: probability that all models are equally
        frequent. ``attribution`` (participant, model): probability that the model generated the
        participant's data. ``converged``.

    Raises
    ------
    InputError
        If there are fewer than two participants or two models, names occur twice, evidence is
        missing, infinite or not a number, or `prior` is out of range.

    Notes
    -----
    Each participant n has data from one model, :math:`z_n`, drawn with the frequencies r, and
    :math:`r \sim \mathrm{Dirichlet}(\alpha_0, \ldots, \alpha_0)`. With the evidence
    :math:`L_{nk}`, the posterior is approximated by a Dirichlet distribution and by attributions
    g that fit together (ψ: digamma function),

    .. math::
        g_{nk} \propto \exp(L_{nk} + \psi(\alpha_k)), \qquad
        \alpha_k = \alpha_0 + \textstyle\sum_n g_{nk}

    They maximise a lower bound :math:`F_1` of the log evidence of the entire group. For
    :math:`\alpha_0 \ge 1/2` the bound is concave in g, since :math:`n\,\psi'(\alpha_0 + n) < 1`, so
    that there is one maximum. With :math:`F_0 = \sum_n \log \frac{1}{K} \sum_k \exp L_{nk}`, the
    log evidence of equal frequencies, and x the exceedance probability of a model,

    .. math::
        \mathrm{BOR} = \frac{1}{1 + \exp(F_1 - F_0)}, \qquad
        \tilde{x} = (1 - \mathrm{BOR})\, x + \mathrm{BOR}/K

    are the Bayes omnibus risk and the protected exceedance probability. :math:`F_0` is exact, and
    :math:`F_1` is at most the log evidence: the risk is never too small. If the data say nothing
    it is above 0.5, the exact value. The approximation assumes that r and z are independent.
    Intervals and exceedance probabilities are therefore overconfident if evidence is weak. In
    simulated groups of 20 participants and two models, 95 % intervals covered the true value in 95
    % of the groups if a participant's log evidence favoured the true model by 8 on average, in 84 %
    if by 2, and in 68 % if by 0.5; the protected exceedance probability was within 0.05 of the
    exact one in all of them. A prior below 1 makes the approximation worse. Source: Stephan et al.
    (2009); Rigoux et al. (2014).

    Examples
    --------
    >>> people = ["ann", "ben", "cem", "dua", "eli", "fay"]
    >>> bic = pd.DataFrame({"equal": [812, 640, 701, 655, 690, 730]}, index=people)
    >>> bic["unequal"] = [806, 622, 693, 645, 684, 741]
    >>> found = model_frequencies(-bic / 2)
    >>> found["frequency"].round(2).values.tolist()
    [0.25, 0.75]
    >>> found["attribution"].sel(model="unequal").round(2).values.tolist()
    [0.99, 1.0, 0.99, 1.0, 0.99, 0.01]
    >>> risk = found["omnibus_risk"].item()
    >>> found["protected_exceedance"].round(2).values.tolist(), round(risk, 2)
    ([0.25, 0.75], 0.41)
    """
    if not LEAST_PRIOR <= prior <= MOST_PRIOR:
        step = "1 takes all frequencies for equally likely."
        raise NumberError("prior", str(prior), f"{LEAST_PRIOR} to {MOST_PRIOR:.0f}", step)
    table = evidence_table(evidence)
    values = table.to_numpy(float)
    with np.errstate(over="ignore"):
        relative = values - values.max(axis=1, keepdims=True)
    alpha, converged = posterior_concentration(relative, prior)
    ahead = exceedance(alpha)
    risk = expit(log_evidence_of_equal(relative) - free_energy(relative, prior, alpha))
    tails = beta(alpha, alpha.sum() - alpha)
    found = {
        "frequency": alpha / alpha.sum(),
        "frequency_lower": tails.ppf((1 - ci_prob) / 2),
        "frequency_upper": tails.isf((1 - ci_prob) / 2),
        "exceedance": ahead,
        "protected_exceedance": (1 - risk) * ahead + risk / len(alpha),
        "alpha": alpha,
        "omnibus_risk": risk,
        "attribution": attributions(relative, alpha),
        "converged": converged,
    }
    dims = {"attribution": ("person", "model"), "omnibus_risk": (), "converged": ()}
    data = {
        name: (dims.get(name, ("model",)), found[name], attrs_of(name, "model_frequencies"))
        for name in names_of("model_frequencies")
    }
    people = table.index.to_numpy()
    people = people if people.dtype.kind in "iuf" else people.astype(str)
    coords = {"person": people, "model": [str(name) for name in table.columns]}
    said = notice_attrs(notices(evidence)) if isinstance(evidence, xr.DataArray) else {}
    return xr.Dataset(data, coords, said).assign_attrs(prior=prior, ci_prob=ci_prob)


def evidence_table(evidence: pd.DataFrame | xr.DataArray) -> pd.DataFrame:
    """Evidence as a table of finite floats, a row per person and a column per model."""
    if isinstance(evidence, xr.DataArray):
        if evidence.ndim != 2 or "model" not in evidence.dims:
            step = "Models are along the dim 'model': evidence.rename({'your_dim': 'model'})."
            allowed = "two dims, of people and 'model'"
            raise ShapeError("evidence", f"dims {evidence.dims}", allowed, step)
        return evidence_table(pd.DataFrame(evidence.transpose(..., "model").to_pandas()))
    table = evidence
    for labels, what in ((table.index, "row per person"), (table.columns, "column per model")):
        if labels.nlevels > 1:
            raise LabelError("evidence", f"{labels.nlevels} levels of names", f"one {what}")
        if len(labels) < 2:
            step = "Of one person, compare the evidence itself." if "row" in what else ""
            raise LabelError("evidence", f"{len(labels)}", f"two or more, one {what}", step)
        names = pd.Index([str(name) for name in labels])
        if not names.is_unique:
            twice = names[names.duplicated()][0]
            raise RepeatError("evidence", f"{twice!r} twice", f"one {what}")
    for name, kind in zip(table.columns, table.dtypes, strict=True):
        if kind.kind not in "iuf":
            step = "Names of people belong to the index: evidence.set_index(...)."
            raise NumberError("evidence", f"{kind} in {name!r}", "numbers, log evidence", step)
    values = table.to_numpy(float, na_value=np.nan)
    rows, columns = np.nonzero(~np.isfinite(values))
    if len(rows):
        person, model = table.index[rows[0]], table.columns[columns[0]]
        got = f"{values[rows[0], columns[0]]} for {person!r} and {model!r}"
        step = "Leave out people who lack evidence for a model, or give it for all."
        raise NumberError("evidence", got, "finite numbers", step)
    return pd.DataFrame(values, table.index, table.columns)


def posterior_concentration(log_evidence: Floats, prior: float) -> tuple[Floats, bool]:
    """Concentration of the posterior, and whether the iteration came to rest.

    Newton's step where it leads much nearer; else one along that of the variational iteration, 1,
    which never lowers the bound, doubled while it rises.
    """

    def gap_at(alpha: Floats) -> Floats:
        """What the variational iteration adds to alpha."""
        gap: Floats = prior + attributions(log_evidence, alpha).sum(axis=0) - alpha
        return gap

    people, models = log_evidence.shape
    alpha = np.full(models, prior + people / models)
    for _ in range(MOST_STEPS):
        g, gap = attributions(log_evidence, alpha), gap_at(alpha)
        slope = (np.diag(g.sum(axis=0)) - g.T @ g) * polygamma(1, alpha)
        step = np.linalg.lstsq(np.eye(models) - slope, gap)[0]
        ahead = alpha + step
        if np.abs(step).max() <= TOLERANCE * alpha.sum():
            return ahead, True
        is_inside = bool((ahead > prior / 2).all())
        if is_inside and 2 * np.abs(gap_at(ahead)).max() < np.abs(gap).max():
            alpha = ahead
            continue
        times, best = 1, free_energy(log_evidence, prior, alpha + gap)
        while (alpha + 2 * times * gap > prior / 2).all():
            bound = free_energy(log_evidence, prior, alpha + 2 * times * gap)
            if bound <= best:
                break
            times, best = 2 * times, bound
        alpha = alpha + times * gap
    return alpha, False


def attributions(log_evidence: Floats, alpha: Floats) -> Floats:
    """Probability that a person's data came from a model, (person, model)."""
    return np.asarray(softmax(log_evidence + digamma(alpha), axis=1))


def free_energy(log_evidence: Floats, prior: float, alpha: Floats) -> float:
    """Lower bound F₁ of the log evidence, with the attributions that belong to alpha."""
    before = np.full_like(alpha, prior)
    log_r = digamma(alpha) - digamma(alpha.sum())
    divergence = (
        gammaln(alpha.sum())
        - gammaln(before.sum())
        - (gammaln(alpha) - gammaln(before)).sum()
        + ((alpha - before) * log_r).sum()
    )
    return float(logsumexp(log_evidence + log_r, axis=1).sum() - divergence)


def log_evidence_of_equal(log_evidence: Floats) -> float:
    """Log evidence F₀ of the group if all models are equally frequent."""
    people, models = log_evidence.shape
    return float(logsumexp(log_evidence, axis=1).sum() - people * np.log(models))


def exceedance(alpha: Floats) -> Floats:
    """Probability that each model is the most frequent, under a Dirichlet distribution.

    Frequencies are in the proportions of independent gamma variables. Model k is first with
    probability E[∏ F_j(x)] over its own x, summed at normal quantiles of x.
    """
    weights = norm.pdf(POINTS) * np.diff(POINTS)[0]
    result = np.empty_like(alpha)
    for k, own in enumerate(alpha):
        x = np.where(POINTS < 0, gamma.ppf(norm.cdf(POINTS), own), gamma.isf(norm.sf(POINTS), own))
        result[k] = weights @ np.prod(gamma.cdf(x[:, None], np.delete(alpha, k)), axis=1)
    return result
