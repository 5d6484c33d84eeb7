"""Whether the model that made the ratings is the one that is selected, and what its fit recovers.

Names of models and a design → Dataset (generating, winning): how often each model wins on data of
each; and (generating, quantity): errors of the fits of the true model.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, seed_or_none
from hmetad.counts.checks import whole_number
from hmetad.errors import InputError
from hmetad.results import attrs_of
from hmetad.select.family import Candidate, chosen_models
from hmetad.select.models import select_models
from hmetad.simulate.simulate import simulate_counts

__all__ = ["recover_models"]

type Floats = NDArray[np.float64]

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


@check_inputs(seed=seed_or_none)
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
        Of a person, over three difficulties.
    people, ratings : int, optional
        In a data set.
    n : int, optional
        Data sets of each model.
    seed : int, optional
        Of people and trials.

    Returns
    -------
    Dataset
        Dims (generating, winning): ``people``, the share of people whose AIC is lowest for the
        winning model, and ``groups``, the share of data sets where the sum over people is.
        ``at_edge`` (generating): share of fits of the generating model that lie at an edge. Dims
        (generating, quantity), over the other fits of the generating model: ``correlation`` of
        estimates and true values of people, ``bias``, their mean difference, and ``rmse``; NaN
        where a model has no such quantity, or fewer than three people remain.

    Raises
    ------
    InputError
        If there are fewer than two models or one is unknown, or a number is no whole number.

    Notes
    -----
    People have d′ of about 0.5, 1.2 and 2.2, :math:`c \sim N(0, 0.3)`, gaps between criteria of
    about 0.5 SD, the same for all difficulties, and parameters of confidence near those of
    published fits. Fits are those of `hmetad.select.select_models` with ``quick=True``.

    Examples
    --------
    >>> found = recover_models(["sdt", "wev"], trials=3000, people=3, n=1, seed=1)
    >>> found["groups"].sel(generating="wev", winning="wev").item()
    1.0
    """
    chosen = chosen_models(models, has_levels=True, quick=True)
    names = [one.name for one in chosen]
    sizes = {"trials": trials, "people": people, "ratings": ratings, "n": n}
    for argument, number in sizes.items():
        sizes[argument] = whole_number(argument, number, 2 if argument == "ratings" else 1)
    best_for, best = (np.zeros((len(names), len(names))) for _ in range(2))
    is_open = np.zeros((len(names), sizes["n"], sizes["people"]), dtype=bool)
    quantities = list(dict.fromkeys(name for one in chosen for name in own_quantities(one)))
    truth, estimate = (np.full((*is_open.shape, len(quantities)), np.nan) for _ in range(2))
    seeds = np.random.SeedSequence(seed).spawn(len(names) * sizes["n"])
    for place, one in enumerate(chosen):
        for k in range(sizes["n"]):
            rng = np.random.default_rng(seeds[place * sizes["n"] + k])
            counts, true = draw_people(one, sizes["people"], sizes["trials"], sizes["ratings"], rng)
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
    errors = recovered(truth, np.where(is_open[..., None], np.nan, estimate))
    result = xr.Dataset(
        {
            "people": (pairs, best_for / (sizes["people"] * sizes["n"])),
            "groups": (pairs, best / sizes["n"]),
            "at_edge": ("generating", is_open.mean(axis=(1, 2))),
            **{name: (by_model, values) for name, values in errors.items()},
        },
        {"generating": names, "winning": names, "quantity": quantities},
    )
    for name in map(str, result):
        result[name].attrs = attrs_of(name, "recover_models")
    return result.assign_attrs(sizes | {"seed": "" if seed is None else seed})


def own_quantities(model: Candidate) -> list[str]:
    """Quantities of confidence, such as noise, that single parameters of a person stand for."""
    needed = [("m" if name == "log_m" else name,) for name in PEOPLE.get(model.name, {})]
    return [name for name, one in model.spec.record.results.items() if one.needs in needed]


def recovered(truth: Floats, estimate: Floats) -> dict[str, Floats]:
    """Correlation, bias and error of estimates, over data sets and people."""
    models, quantities = truth.shape[0], truth.shape[-1]
    found = {
        name: np.full((models, quantities), np.nan) for name in ("correlation", "bias", "rmse")
    }
    for place in np.ndindex(models, quantities):
        true, own = truth[place[0], ..., place[1]], estimate[place[0], ..., place[1]]
        kept = np.isfinite(true) & np.isfinite(own)
        if kept.sum() < FEWEST:
            continue
        error = own[kept] - true[kept]
        found["bias"][place], found["rmse"][place] = error.mean(), np.sqrt((error**2).mean())
        found["correlation"][place] = np.corrcoef(true[kept], own[kept])[0, 1]
    return found


def draw_people(
    model: Candidate, people: int, trials: int, ratings: int, rng: np.random.Generator
) -> tuple[xr.DataArray, dict[str, Floats]]:
    """Count table of some people at three difficulties by a model, and their true quantities."""
    levels = len(LEVELS)
    if trials < 2 * levels:
        raise InputError("trials", str(trials), f"{2 * levels} or more, two of each difficulty")

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
