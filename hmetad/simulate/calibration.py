"""Is the sampler right? Simulation-based calibration of the Bayesian fits.

Model card and design → Dataset (simulation, parameter) of ranks. Parameters are drawn from the
prior and counts from them; among the draws of a fit to those counts, the true value then has any
rank with the same probability. Source: Talts et al. (2018); Modrák et al. (2023) for the
likelihood as a further quantity. `hmetad.base.uniformity` tests the ranks.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none
from hmetad.base.errors import SourceError, TooFewError, TooManyError, UnknownError, nearest
from hmetad.base.monte_carlo import effective_draws, rank_rhat
from hmetad.base.results import attrs_of
from hmetad.base.uniformity import uniformity
from hmetad.bayes.fit import fit
from hmetad.bayes.kept_cells import outcome_draws
from hmetad.bayes.predictive import draw_prior
from hmetad.bayes.program import build_program
from hmetad.counts.checks import whole_number
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import given_of
from hmetad.specs.loading import as_model
from hmetad.specs.spec import ModelSpec

__all__ = ["calibrate_sampler"]

LOGLIK = "loglik"
# Data sets drawn for one that is kept.
MOST_DRAWN = 200
QUIET = {"progressbar": False, "quiet": True}
SHORT_RUNS = {"draws": 500, "tune": 500, "chains": 2, **QUIET}


@check_inputs(seed=seed_or_none)
def calibrate_sampler(
    model: str | ModelSpec = "individual",
    design: xr.DataArray | None = None,
    *,
    n: int = 200,
    ranks: int = 99,
    var: Sequence[str] | None = None,
    fitted: str | ModelSpec | None = None,
    keep: Callable[[xr.DataArray], bool] | None = None,
    seed: int | None = None,
    **sample_kwargs: Any,
) -> xr.Dataset:
    r"""Ranks of true values among posterior draws, over data sets drawn from the prior.

    Parameters
    ----------
    model : str or ModelSpec
        Name or path of a card, or what `load_model` returned.
    design : DataArray, optional
        Count table whose cells, ratings and trials of each stimulus every data set has; by
        default that of the card's example.
    n : int
        Data sets. Where the card has no formula its cells are independent, and all data sets are
        cells of one fit, which takes seconds; else there are n fits, of a second or so each.
    ranks : int
        Draws, evenly thinned, among which the truth is ranked: fewer than the effective ones.
    var : sequence of str, optional
        Variables; by default the parameters of the model and the coefficients, standard
        deviations and effects of its formulas.
    fitted : str or ModelSpec, optional
        Model to fit with, where it is not the one that the data are drawn from: ranks then show
        what a wrong prior or a wrong rule for κ does.
    keep : callable, optional
        From a count table to whether it is fitted, to leave out data sets that nobody would fit,
        such as those of people who gave one response alone. It sees the counts and not the true
        values, and therefore ranks stay uniform: the posterior of a data set is the same, whichever
        others are left out.
    seed : int, optional
        Of the data sets and of the fits.
    **sample_kwargs
        Passed on to `fit`; 2 chains of 500 draws by default. With ``draws=None`` fits draw as they
        do when nothing is said, in rounds until the draws are enough.

    Returns
    -------
    Dataset
        Dims (simulation, parameter), parameter such as ``"log_m[a]"`` with coordinate
        ``variable``: ``rank`` (0 to `ranks`), ``truth``, ``z_score``, ``contraction``, ``ess`` and
        ``rhat``. Per parameter ``statistic`` and ``p_value`` of `uniformity`. Per simulation
        ``divergences``, the number of draws that diverged in its fit (of the one fit where all data
        sets are cells of one). The last parameter is ``"loglik"``, the log-likelihood of the data
        set, which alone shows a posterior that ignores the data. attrs: model, fitted (JSON), n,
        ranks, seed, and drawn, the data sets of which `keep` kept n.

    Raises
    ------
    InputError
        If the card or a variable is unknown, there is no design, there are fewer draws than
        `ranks`, or `keep` keeps fewer than one data set in two hundred.

    Notes
    -----
    The p-values are of single parameters: of twenty, one is below .05 by chance. Ranks heaped in
    the middle are of posteriors too wide, those heaped at both ends of posteriors too narrow, or
    of draws that are not as good as independent (`ess` below `ranks`).

    Examples
    --------
    >>> found = calibrate_sampler("individual", n=40, seed=1, draws=200, tune=300)
    >>> bool((found["p_value"] > 0.0001).all())
    True
    """
    spec = as_model(model)
    number, size = whole_number("n", n, 2), whole_number("ranks", ranks, 1)
    options = {**SHORT_RUNS, **sample_kwargs}
    if options["draws"] is None:
        options = {**QUIET, **{name: x for name, x in sample_kwargs.items() if name != "draws"}}
    elif options["draws"] * options["chains"] < size:
        got = f"{size} of {options['draws'] * options['chains']} draws"
        raise TooManyError("ranks", got, "at most as many as there are draws")
    if design is None:
        if not spec.example:
            got = f"none, and model {spec.name!r} has no example"
            raise SourceError("design", got, "a count table", "Make one with simulate_counts.")
        design = simulate_counts(seed=0, **spec.example)
    of_data, of_fits = np.random.SeedSequence(seed).spawn(2)
    prior, tables, drawn = draw_data_sets(design, spec, number, keep, of_data)
    # By default all variables that do not follow from others.
    known = [str(name) for name in prior.data_vars]
    following = {*spec.record.results} - {*spec.parameters}
    roles = {v.name: v.role for v in build_program(design, spec).layout.variables}
    names = sorted(x for x in known if x not in following and roles.get(x) != "partial")
    matrices = {x for x in names if roles.get(x) == "correlation"}
    for name in var or ():
        if name not in known:
            raise UnknownError("var", repr(name), "variables of the model", nearest(name, known))
    names = names if var is None else list(var)
    other = spec if fitted is None else as_model(fitted)
    seeds = of_fits.generate_state(number).tolist()
    found = []
    for i, tree in enumerate(fits_of(tables, other, seeds, options)):
        truth = {"posterior": prior.isel(draw=[i]), "observed_data": tree["observed_data"]}
        true = parameter_values(xr.DataTree.from_dict(truth), names, spec, matrices)
        drawn_values = parameter_values(tree, names, other, matrices)
        ranked = rank_simulation(drawn_values, true.isel(chain=0, draw=0), size)
        diverged = int(tree["sample_stats"].to_dataset()["diverging"].sum())
        found.append(ranked.assign(divergences=diverged))
    result = tested_ranks(xr.concat(found, "simulation"), size)
    said = {"model": spec.name, "fitted": other.to_json(), "n": number, "drawn": drawn}
    return result.assign_attrs({**said, "ranks": size, "seed": str(seed)})


def draw_data_sets(
    design: xr.DataArray,
    spec: ModelSpec,
    number: int,
    keep: Callable[[xr.DataArray], bool] | None,
    seed: np.random.SeedSequence,
) -> tuple[xr.Dataset, xr.DataArray, int]:
    """True values, the data sets drawn from them, and how many were drawn to keep that many."""
    rng = np.random.default_rng(seed)
    priors, tables = [], []
    kept, drawn, size = 0, 0, number
    while kept < number:
        if drawn > MOST_DRAWN * number:
            got = f"one that keeps {kept} of {drawn} data sets"
            raise TooFewError("keep", got, f"one that keeps at least 1 of {MOST_DRAWN}")
        tree = draw_prior(design, spec, draws=size, seed=rng)
        counts = tree["prior_predictive"].to_dataset()["counts"].isel(chain=0)
        own = [i for i in range(size) if keep is None or keep(counts.isel(draw=i, drop=True))]
        priors.append(tree["prior"].to_dataset().isel(draw=own))
        tables.append(counts.isel(draw=own))
        kept, drawn = kept + len(own), drawn + size
        # As many as will do at this rate, and some more.
        size = min(drawn * (number - kept) // max(kept, 1) + 10, 20 * number)
    whole = slice(number)
    prior = xr.concat(priors, "draw").isel(draw=whole).assign_coords(draw=range(number))
    counts = xr.concat(tables, "draw").isel(draw=whole).assign_coords(draw=range(number))
    return prior, counts, drawn


def fits_of(
    tables: xr.DataArray, spec: ModelSpec, seeds: Sequence[int], options: dict[str, Any]
) -> Iterator[xr.DataTree]:
    """Posterior and data of every table (draw, cell, ...), with the cells of the design."""
    if spec.formula or any(p.hyperpriors for p in spec.record.parameters):
        for i, seed in enumerate(seeds):
            yield fit(tables.isel(draw=i, drop=True), spec, random_seed=seed, **options)
        return
    # Cells without anything in common: those of all tables are fitted side by side.
    shape, cells = tables.shape, tables["cell"].values
    labels = [f"{i} | {cell}" for i in range(shape[0]) for cell in cells.tolist()]
    dims = [str(dim) for dim in tables.dims[1:]]
    levels: dict[str, Any] = {name: tables[name].values for name in dims[1:]}
    if "options" in tables.coords:
        levels["options"] = ("cell", np.tile(tables["options"].values, shape[0]))
    joined = xr.DataArray(
        tables.to_numpy().reshape(-1, *shape[2:]), {"cell": labels, **levels}, dims
    )
    together = fit(joined, spec, random_seed=seeds[0], **options)
    for i in range(shape[0]):
        own = {"cell": slice(i * len(cells), (i + 1) * len(cells))}
        groups = {
            name: together[name].to_dataset().isel(own).assign_coords(cell=cells)
            for name in ("posterior", "observed_data")
        }
        # A draw is of all cells at once.
        yield xr.DataTree.from_dict({**groups, "sample_stats": together["sample_stats"]})


def parameter_values(
    tree: xr.DataTree, names: Sequence[str], spec: ModelSpec, matrices: Collection[str] = ()
) -> xr.DataArray:
    """Draws (chain, draw, parameter) of variables, and last of the log-likelihood."""
    posterior = tree["posterior"].to_dataset()
    parts, labels, owners = [], [], []
    for name in names:
        dims = [str(dim) for dim in posterior[name].dims if dim not in ("chain", "draw")]
        values = posterior[name].transpose("chain", "draw", *dims)
        places = list(np.ndindex(*values.shape[2:]))
        if name in matrices:
            # Symmetric, with a diagonal of 1.
            places = [place for place in places if place[0] > place[1]]
        array = values.to_numpy()
        parts += [array[(..., *place)][..., None] for place in places]
        levels = [values[dim].values.tolist() for dim in dims]
        own = [", ".join(str(levels[i][j]) for i, j in enumerate(place)) for place in places]
        labels += [f"{name}[{place}]" if place else name for place in own]
        owners += [name] * len(own)
    counts = tree["observed_data"].to_dataset()["counts"]
    observed = counts.transpose("cell", *spec.record.layout.dims).to_numpy()
    log_p = outcome_draws(posterior, spec.record, given_of(counts, spec)).to_numpy()
    # An outcome that never came may be as improbable as it likes.
    loglik = np.where(observed > 0, observed * log_p, 0.0).sum(axis=(*range(2, log_p.ndim),))
    return xr.DataArray(
        np.concatenate([*parts, loglik[..., None]], axis=-1),
        dims=("chain", "draw", "parameter"),
        coords={"parameter": [*labels, LOGLIK], "variable": ("parameter", [*owners, LOGLIK])},
    )


def rank_simulation(draws: xr.DataArray, truth: xr.DataArray, size: int) -> xr.Dataset:
    """Ranks of one simulation, and how good its draws are."""
    rows = draws.transpose("parameter", "chain", "draw").to_numpy()
    flat, true = rows.reshape(len(rows), -1), truth.to_numpy()
    # Evenly over all chains, and as far apart as they can be.
    thinned = flat[:, np.linspace(0, flat.shape[1] - 1, size).astype(int)]
    mean, sd = flat.mean(axis=1), flat.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z_score = (mean - true) / sd
    found = {
        "rank": (thinned < true[:, None]).sum(axis=1),
        "truth": true,
        "z_score": z_score,
        "sd": sd,
        "ess": effective_draws(rows),
        "rhat": rank_rhat(rows),
    }
    coords = {"parameter": draws["parameter"], "variable": draws["variable"]}
    return xr.Dataset({name: ("parameter", values) for name, values in found.items()}, coords)


def tested_ranks(found: xr.Dataset, size: int) -> xr.Dataset:
    """Ranks of all simulations with their test, without what is constant by definition."""
    varies = found["truth"].std("simulation") > 0
    found = found.isel(parameter=varies.to_numpy())
    contraction = 1 - found["sd"] ** 2 / found["truth"].var("simulation", ddof=1)
    statistic, p_value = uniformity(found["rank"].to_numpy(), size)
    result = found.drop_vars("sd").assign(
        # The log-likelihood is that of other data in every simulation.
        contraction=contraction.where(found["variable"] != LOGLIK),
        statistic=("parameter", statistic),
        p_value=("parameter", p_value),
    )
    for name in map(str, result):
        result[name].attrs["long_name"] = attrs_of(name, "calibrate_sampler")["long_name"]
    return result
