"""How well a truth that is known is found again: by estimators, and by the selection of models.

Estimators (count table → Dataset) and a design → Dataset (estimator, true_dprime, trials): bias and
error. Names of models and a design → Dataset (generating, winning): how often each wins on data of
each; and (generating, quantity): errors of the fits of the true model.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, seed_or_none, whole
from hmetad.base.errors import SourceError, UnknownError, nearest
from hmetad.base.results import attrs_of
from hmetad.likelihood.registry import load_likelihood
from hmetad.select.models import Candidate, chosen_models, select_models
from hmetad.simulate.simulate import simulate_counts

type Floats = NDArray[np.float64]
type Estimator = Callable[[xr.DataArray], xr.Dataset]

LEVELS = ("hard", "medium", "easy")
DPRIME = np.array([0.5, 1.2, 2.2])
# Means and standard deviations over people of the parameters of confidence, near published fits.
PEOPLE: dict[str, dict[str, tuple[float, float]]] = {
    "gaussian_noise": {"log_noise": (math.log(0.8), 0.3)},
    "wev": {"logit_visibility": (-0.4, 0.4), "log_noise": (math.log(0.6), 0.3)},
    "pda": {"log_later": (math.log(0.6), 0.3)},
    "cncb": {"logit_boost": (-0.4, 0.4), "log_noise": (math.log(0.7), 0.3)},
    "fleming_daw": {"log_confidence_sd": (0.2, 0.2), "fisher_z_correlation": (0.6, 0.2)},
    "ig": {"log_relative_dprime": (math.log(0.8), 0.25)},
    "lognormal_noise": {"log_meta_noise": (math.log(0.8), 0.3)},
    "casandre": {"log_meta_noise": (math.log(0.8), 0.3)},
    "meta_d": {"log_m": (math.log(0.7), 0.25)},
    "meta_d_absolute": {"log_m": (math.log(0.7), 0.25)},
}
# People whose correlation is worth a number.
FEWEST = 3
DEFAULT = ("sdt", "gaussian_noise", "lognormal_noise", "wev", "ig", "meta_d")


@check_inputs(dprime=arrays_of_numbers, trials=arrays_of_numbers, n=whole(2), seed=seed_or_none)
def recover(
    estimators: Mapping[str, Estimator],
    *,
    dprime: ArrayLike,
    trials: ArrayLike,
    m_ratio: float = 0.8,
    c: float = 0.0,
    n: int = 200,
    var: str = "m_ratio",
    likelihood: str = "meta-d",
    seed: int | None = None,
    **design: Any,
) -> xr.Dataset:
    r"""Bias and error of estimators on cells drawn from the meta-d′ model, or another.

    Parameters
    ----------
    estimators : mapping of str to callable
        Count table → Dataset with `var` per cell: ``{"ML": fit_mle, "DMC": fit_dmc}``; of a
        Bayesian fit, ``lambda t: fit(t)["posterior"].dataset.mean(["chain", "draw"])``. All see
        the same tables, those of all designs at once.
    dprime : array_like, shape (sensitivities,)
        True d′.
    trials : array_like of int, shape (numbers,)
        Trials of a cell.
    m_ratio, c : float, optional
        True M, of likelihoods that have one, and c.
    n : int, optional
        Cells of each design.
    var : str, optional
        What is estimated: ``"m_ratio"``, ``"log_m"``, ``"meta_d"``, ``"dprime"`` or ``"c"``; of
        another likelihood, one of its quantities whose truth is given or follows.
    likelihood : str, optional
        Name of another likelihood, as in `simulate_counts`.
    seed : int, optional
        Seed of the simulation.
    **design
        Further arguments of `simulate_counts`: ``ratings``, ``meta_criterion``, ``s``, ``gaps``; of
        another likelihood, its choices and values, each one number.

    Returns
    -------
    Dataset
        Dims (estimator, true_dprime, trials): ``bias``, ``bias_se``, ``median_bias`` and
        ``rmse`` in the units of `var`, over the cells with an estimate, and ``undefined``, the
        proportion of those without. Attrs ``var``, ``m_ratio`` or ``likelihood``, ``c``, ``n``.

    Raises
    ------
    InputError
        If `var` is none of the above, an estimator does not return it, or `n` is not an integer.

    Examples
    --------
    >>> from hmetad.mle.meta_d import fit_mle
    >>> found = recover({"ML": fit_mle}, dprime=[1.5], trials=[10_000], n=50, seed=1)
    >>> bool(abs(found["bias"].item()) < 0.05)
    True
    >>> found = recover(
    ...     {"ML": lambda counts: fit_mle(counts, "gaussian_noise")}, dprime=[1.5], trials=[10_000],
    ...     n=20, likelihood="linear-gaussian", noise=0.7, var="noise", seed=1,
    ... )
    >>> bool(abs(found["bias"].item()) < 0.1)
    True
    """
    sensitivity, number = np.ravel(np.asarray(dprime, dtype=float)), np.ravel(trials)
    d, per_cell = (np.repeat(x.ravel(), n) for x in np.meshgrid(sensitivity, number, indexing="ij"))
    has_m = likelihood == "meta-d" or "m_ratio" in load_likelihood(likelihood).results
    of_m = {"m_ratio": m_ratio} if has_m else {}
    truths = truth_of_cells(likelihood, d, c, of_m | design)
    if var not in truths:
        allowed = f"a quantity whose truth is known: {', '.join(truths)}"
        raise UnknownError("var", repr(var), allowed, nearest(str(var), truths))
    given: dict[str, Any] = of_m | ({} if likelihood == "meta-d" else {"likelihood": likelihood})
    counts = simulate_counts(d, c, trials=per_cell, seed=seed, **given, **design)
    errors = []
    for name, estimator in estimators.items():
        found = estimator(counts)
        if var not in found or found[var].dims != ("cell",):
            got = f"{name!r}, which returns no {var!r} of dims (cell)"
            raise SourceError("estimators", got, f"functions that return {var!r} per cell")
        errors.append(found[var].sel(cell=counts["cell"]).to_numpy() - truths[var])
    grid = np.reshape(errors, (len(errors), len(sensitivity), len(number), n))
    dims = ("estimator", "true_dprime", "trials")
    coords = {"estimator": list(estimators), "true_dprime": sensitivity, "trials": number}
    result = xr.Dataset({name: (dims, x) for name, x in summaries(grid).items()}, coords)
    for name in map(str, result):
        result[name].attrs = {"long_name": f"{attrs_of(name, 'recover')['long_name']}, {var}"}
    result.attrs = {"var": var, **given, "c": c, "n": n}
    return result


def truth_of_cells(
    likelihood: str, d: Floats, c: float, design: Mapping[str, Any]
) -> dict[str, Floats]:
    """True values of each cell, by name: those given, and what follows from them."""
    chosen = {name: value for name, value in design.items() if isinstance(value, str)}
    record = load_likelihood(likelihood, **chosen)
    names = {p.name for p in record.parameters} | {q.name for q in record.quantities}
    known = {"dprime": d, "c": np.full_like(d, c)}
    for name, value in design.items():
        if name in names and np.ndim(value) == 0 and not record.dims(name):
            known[name] = np.full_like(d, value)
    found = record.derived(known)
    return {name: own for name, own in found.items() if np.shape(own) == d.shape and name in names}


def summaries(errors: Floats) -> dict[str, Floats]:
    """Summaries over the last axis, NaN where no cell has an estimate."""
    defined = np.isfinite(errors)
    known, number = np.where(defined, errors, np.nan), defined.sum(axis=-1)
    with warnings.catch_warnings():
        # Where no cell has an estimate there are none of these.
        warnings.simplefilter("ignore", RuntimeWarning)
        variance = np.nanvar(known, axis=-1) / np.where(number > 1, number - 1, np.nan)
        return {
            "bias": np.nanmean(known, axis=-1),
            "bias_se": np.sqrt(variance),
            "median_bias": np.nanmedian(known, axis=-1),
            "rmse": np.sqrt(np.nanmean(known**2, axis=-1)),
            "undefined": 1 - defined.mean(axis=-1),
        }


@check_inputs(
    trials=whole(2 * len(LEVELS)), people=whole(1), ratings=whole(2), n=whole(1), seed=seed_or_none
)
def recover_models(
    models: Sequence[str] = DEFAULT,
    *,
    trials: int = 400,
    people: int = 20,
    ratings: int = 4,
    n: int = 10,
    seed: int | None = None,
) -> xr.Dataset:
    r"""How often each model is selected on data of each.

    Parameters
    ----------
    models : sequence of str, optional
        Names of `hmetad.select.candidates`: each makes data, and all are fitted to them.
    trials : int, optional
        Of a participant, over three difficulties.
    people, ratings : int, optional
        In a data set.
    n : int, optional
        Data sets of each model.
    seed : int, optional
        Of participants and trials.

    Returns
    -------
    Dataset
        Dims (generating, winning): ``people``, the proportion of participants whose AIC is lowest
        for the winning model, and ``groups``, the proportion of data sets where the sum over
        participants is. ``at_edge`` (generating): proportion of fits of the generating model that
        lie at an edge. Dims (generating, quantity), over the other fits of the generating model:
        ``correlation`` of estimates and true values of participants, ``bias``, their mean
        difference, and ``rmse``; NaN where a model has no such quantity, or fewer than three
        participants remain.

    Raises
    ------
    InputError
        If there are fewer than two models or one is unknown, or a number is not an integer.

    Notes
    -----
    Participants have d′ of about 0.5, 1.2 and 2.2, :math:`c \sim N(0, 0.3)`, gaps between criteria
    of about 0.5 SD, the same for all difficulties, and parameters of confidence near those of
    published fits. Fits are those of `hmetad.select.select_models` with ``quick=True``.

    Examples
    --------
    >>> found = recover_models(["sdt", "wev"], trials=3000, people=3, n=1, seed=1)
    >>> found["groups"].sel(generating="wev", winning="wev").item()
    1.0
    """
    chosen = chosen_models(models, has_levels=True, quick=True)
    names = [one.name for one in chosen]
    best_for, best = (np.zeros((len(names), len(names))) for _ in range(2))
    is_open = np.zeros((len(names), n, people), dtype=bool)
    quantities = list(dict.fromkeys(name for one in chosen for name in own_quantities(one)))
    truth, estimate = (np.full((*is_open.shape, len(quantities)), np.nan) for _ in range(2))
    seeds = np.random.SeedSequence(seed).spawn(len(names) * n)
    for place, k in np.ndindex(len(names), n):
        one, rng = chosen[place], np.random.default_rng(seeds[place * n + k])
        counts, true = draw_people(one, people, trials, ratings, rng)
        found = select_models(counts, names, difficulty="difficulty", quick=True)
        best_for[place] += found.table.loc[names, "best_for"].to_numpy()
        best[place, names.index(str(found.table.index[0]))] += 1
        fitted = found.fits[one.name]
        assert isinstance(fitted, xr.Dataset)
        of_people = fitted["of_unit"].to_numpy()[:: len(LEVELS)]
        is_open[place, k] = fitted["at_edge"].sel(unit=of_people).to_numpy()
        for name, values in true.items():
            at = (place, k, slice(None), quantities.index(name))
            truth[at], estimate[at] = values, fitted[name].to_numpy()[:: len(LEVELS)]
    pairs, by_model = ("generating", "winning"), ("generating", "quantity")
    estimate[is_open] = np.nan
    result = xr.Dataset(
        {
            "people": (pairs, best_for / (people * n)),
            "groups": (pairs, best / n),
            "at_edge": ("generating", is_open.mean(axis=(1, 2))),
            **{x: (by_model, values) for x, values in recovered(truth, estimate).items()},
        },
        {"generating": names, "winning": names, "quantity": quantities},
    )
    for name in map(str, result):
        result[name].attrs = attrs_of(name, "recover_models")
    said = {"trials": trials, "people": people, "ratings": ratings, "n": n}
    return result.assign_attrs(said, seed="" if seed is None else seed)


def own_quantities(model: Candidate) -> list[str]:
    """Quantities of confidence, such as noise, that single parameters of a person stand for."""
    needed = [("m" if name == "log_m" else name,) for name in PEOPLE.get(model.name, {})]
    return [name for name, one in model.spec.record.results.items() if one.needs in needed]


def recovered(truth: Floats, estimate: Floats) -> dict[str, Floats]:
    """Correlation, bias and error of estimates, over data sets and people."""
    shape = truth.shape[0], truth.shape[-1]
    found = {name: np.full(shape, np.nan) for name in ("correlation", "bias", "rmse")}
    for model, quantity in np.ndindex(shape):
        at = model, ..., quantity
        kept = np.isfinite(truth[at]) & np.isfinite(estimate[at])
        if kept.sum() >= FEWEST:
            true, own = truth[at][kept], estimate[at][kept]
            found["correlation"][model, quantity] = np.corrcoef(true, own)[0, 1]
            found["bias"][model, quantity] = (own - true).mean()
            found["rmse"][model, quantity] = np.sqrt(((own - true) ** 2).mean())
    return found


def draw_people(
    model: Candidate, people: int, trials: int, ratings: int, rng: np.random.Generator
) -> tuple[xr.DataArray, dict[str, Floats]]:
    """Count table of some people at three difficulties by a model, and their true quantities."""
    levels = len(LEVELS)

    def of_people(values: Floats) -> Floats:
        return np.repeat(values, levels, axis=0)

    spec = model.spec
    own: dict[str, Any] = {
        name: of_people(rng.normal(mean, sd, people))
        for name, (mean, sd) in PEOPLE.get(model.name, {}).items()
    }
    gaps = ratings - 1
    if "first_gap" in spec.parameters:
        gaps -= 1
        own["first_gap"] = of_people(rng.normal(0.4, 0.2, (people, 2)))
    if "process" in spec.choices:
        own["process"] = spec.choices["process"]
    if "log_m" in own:
        own["m_ratio"] = np.exp(own.pop("log_m"))
        own["meta_criterion"] = spec.choices["meta_criterion"]
    counts = simulate_counts(
        np.tile(DPRIME, people) * of_people(np.exp(rng.normal(0, 0.2, people))),
        of_people(rng.normal(0, 0.3, people)),
        trials=trials // levels,
        gaps=of_people(np.exp(rng.normal(math.log(0.5), 0.3, (people, 2, gaps)))),
        likelihood=spec.likelihood,
        coords={
            "subject": [f"s{k + 1}" for k in range(people) for _ in LEVELS],
            "difficulty": [*LEVELS] * people,
        },
        seed=rng,
        **own,
    )
    known = {name: np.asarray(value) for name, value in own.items() if not isinstance(value, str)}
    derived = spec.record.derived(known)
    return counts, {name: derived[name][::levels] for name in own_quantities(model)}
