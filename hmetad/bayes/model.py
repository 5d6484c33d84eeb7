"""The PyMC model of a model card.

Count table and ModelSpec → pm.Model. Every parameter is written per cell, free or as a linear
predictor; links and the rule for κ stand here in PyTensor, the likelihood itself is the compiled
kernel.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.arguments import checked, with_posterior
from hmetad.bayes.design import Design, cell_table, parse_design
from hmetad.bayes.distributions import OUTWARD, draw, sorted_normal
from hmetad.bayes.group_effects import Predictor
from hmetad.bayes.observe import observe
from hmetad.bayes.predictors import default_priors, linear_predictor
from hmetad.bayes.spec import (
    DEFAULT_HYPERCRITERIA,
    ModelSpec,
    Prior,
    free_priors,
    refuse_unknown_priors,
)
from hmetad.bayes.start import Start, starting_point
from hmetad.counts.checks import require_stimulus
from hmetad.errors import InputError
from hmetad.likelihood.theory import meta_criterion_value
from hmetad.measures.sdt import sdt

__all__ = [
    "build_model",
    "designs_of",
    "model_and_start",
    "priors_of",
    "rebuild_model",
]

COUNT_DIMS = ("cell", "stimulus", "response", "rating")


@checked("counts")
def build_model(counts: xr.DataArray, spec: ModelSpec) -> pm.Model:
    """Build the PyMC model of a card for a count table.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating), K ≥ 2.
    spec : ModelSpec
        A model card.

    Returns
    -------
    pm.Model
        Free variables by the spec's parametrisation and formulas; per cell also dprime, c,
        meta_d, m_ratio, log_m, meta_c (κ) and criteria (cell, response, criterion), and the
        observed counts. M and what depends on it have a further dim response in
        response-conditional models.

    Raises
    ------
    InputError
        If the table has no ratings to model, a cell lacks a stimulus, a formula does not fit
        the table's coordinates, or a prior is of a variable that the model lacks.

    Examples
    --------
    >>> from hmetad.bayes.loading import load_model
    >>> from hmetad.counts.table import from_nr
    >>> counts = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    >>> sorted(v.name for v in build_model(counts, load_model("individual")).free_RVs)
    ['c', 'dprime', 'log_gap', 'log_m']
    """
    return model_and_start(counts, spec)[0]


@checked(fit=with_posterior)
def rebuild_model(fit: xr.DataTree) -> pm.Model:
    """Build the PyMC model that a fit came from, for PyMC's own functions.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.

    Returns
    -------
    pm.Model
        With the variables of the fit, so that `pymc.sample_posterior_predictive`,
        `pymc.stats.compute_log_likelihood` and `pymc.stats.compute_log_prior` (for ArviZ's
        `psense`) take the two together.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> draws = fit(simulate_counts(1.5, seed=1), draws=100, chains=2, **quiet)
    >>> with rebuild_model(draws):
    ...     prior = pm.stats.compute_log_prior(
    ...         draws, extend_inferencedata=False, progressbar=False
    ...     )
    >>> sorted(prior.data_vars)
    ['c', 'dprime', 'log_gap', 'log_m']
    """
    observed = fit["observed_data"].to_dataset()["counts"]
    return build_model(observed, ModelSpec.from_json(fit.attrs["spec"]))


def model_and_start(
    counts: xr.DataArray, spec: ModelSpec
) -> tuple[pm.Model, dict[str, NDArray[np.float64]]]:
    """Model of a card, as `build_model` returns it, and values for its chains to begin at."""
    if not isinstance(spec, ModelSpec):
        raise InputError("spec", repr(spec), "a ModelSpec", "Read one with load_model.")
    counts = checked_counts(counts, spec)
    designs = designs_of(counts, spec)
    spec = replace(spec, priors=priors_of(spec, designs))
    start = starting_point(counts, spec, designs)
    criteria = np.arange(1, counts.sizes["rating"])
    coords = {name: counts[name].values for name in counts.dims} | {"criterion": criteria}
    with pm.Model(coords=coords) as model:
        dprime, c = type1_parameters(counts, spec, designs, start)
        meta_d, m_ratio = meta_parameters(dprime, spec, designs, start)
        dims = ("cell", *spec.extra_dims(spec.scale))
        has_side = len(dims) > 1
        kappa = meta_criterion_value(c[:, None] if has_side else c, m_ratio, spec.meta_criterion)
        kappa = pt.broadcast_to(kappa, m_ratio.shape)
        pm.Deterministic("meta_c", kappa, dims=dims)
        gaps = gap_parameters(kappa, spec, designs, start)
        both = [x if has_side else pt.repeat(x[:, None], 2, axis=1) for x in (meta_d, kappa)]
        edges = both[1][..., None] + OUTWARD * pt.cumsum(gaps, axis=-1)
        pm.Deterministic("criteria", edges, dims=("cell", *spec.extra_dims("log_gap")))
        s = variance_ratio(counts, spec, designs, start)
        observe(counts, dprime, c, both[0], both[1], gaps, s)
    free = {variable.name for variable in model.free_RVs}
    return model, {name: value for name, value in start.values.items() if name in free}


def checked_counts(counts: xr.DataArray, spec: ModelSpec) -> xr.DataArray:
    """Count table in its own order of dims, or the reason why it cannot be modelled."""
    require_stimulus(counts, "The meta-d′ model")
    if set(counts.dims) != set(COUNT_DIMS) or counts.sizes["stimulus"] != 2:
        raise InputError("counts", f"sizes {dict(counts.sizes)}", f"dims {COUNT_DIMS}")
    if counts.dtype.kind not in "iu" or bool((counts < 0).any()) or counts.sizes["response"] != 2:
        got = f"{counts.dtype} with minimum {float(counts.min()):g}"
        raise InputError("counts", got, "raw counts: whole numbers of at least 0")
    if counts.sizes["rating"] < 2:
        raise InputError("counts", "one rating", "at least two", "sdt() needs no ratings.")
    shown = counts.sum(["response", "rating"])
    lacking = counts["cell"].values[(shown == 0).any("stimulus").values]
    # Where d′ and c have formulas, cells borrow from each other: one trial of an item is enough.
    if lacking.size and not {"dprime", "c"} <= set(spec.formula):
        raise InputError(
            "counts",
            f"a stimulus never shown in {', '.join(map(str, lacking[:5]))}",
            "trials of S1 and of S2 in every cell",
            "Drop those cells, group the trials otherwise, or give dprime and c formulas.",
        )
    return counts.transpose(*COUNT_DIMS)


def designs_of(counts: xr.DataArray, spec: ModelSpec) -> dict[str, Design]:
    """Formulas of a model, evaluated on the cells of a table, by parameter."""
    for variable, name in spec.names.items():
        if name in counts.coords:
            got = f"{name!r}, which is a coordinate of the cells"
            raise InputError(f"name of {variable}", got, "another name")
    if not spec.formula:
        return {}
    cells = cell_table(counts)
    return {
        name: parse_design(name, formula, cells, may_correlate=not spec.extra_dims(name))
        for name, formula in spec.formula.items()
    }


def priors_of(spec: ModelSpec, designs: Mapping[str, Design]) -> dict[str, Prior]:
    """Prior of every variable that takes one: the model's own, else the package's.

    Raises
    ------
    InputError
        If the model has a prior for a variable that is not among them.
    """
    defaults: dict[str, Prior] = {}
    for parameter in spec.parameters:
        if parameter in designs:
            defaults |= default_priors(designs[parameter])
        else:
            defaults |= free_priors(spec, parameter)
    legal = {spec.named(name): prior for name, prior in defaults.items()}
    refuse_unknown_priors(spec, legal)
    for name, prior in spec.priors.items():
        if (prior.dist == "LKJ") != (legal[name].dist == "LKJ"):
            raise InputError(f"prior of {name}", prior.dist, f"as {legal[name].dist}")
    return {**legal, **spec.priors}


def cell_parameter(
    name: str,
    spec: ModelSpec,
    designs: Mapping[str, Design],
    start: Start,
    centre: TensorVariable | float = 0.0,
) -> TensorVariable:
    """A parameter of every cell: free in each, or by its formula, then a Deterministic."""
    dims = ("cell", *spec.extra_dims(name))
    if name not in designs:
        return draw(spec.named(name), spec.priors[spec.named(name)], dims, centre)
    predictor = Predictor(designs[name], dims[1:], start.is_centred.get(name, {}))
    value = linear_predictor(predictor, lambda v: spec.priors[spec.named(v)], spec.named)
    return value if name == "log_gap" else pm.Deterministic(spec.named(name), value, dims=dims)


def type1_parameters(
    counts: xr.DataArray, spec: ModelSpec, designs: Mapping[str, Design], start: Start
) -> tuple[TensorVariable, TensorVariable]:
    """d′ and c: estimated, or plugged in from counts with 1/(2K) added (HMeta-d)."""
    if spec.type1 == "joint":
        return tuple(cell_parameter(name, spec, designs, start) for name in ("dprime", "c"))
    plugged = sdt(counts, correction="cell")
    return tuple(
        pm.Deterministic(name, pt.as_tensor(plugged[name].values), dims="cell")
        for name in ("dprime", "c")
    )


def meta_parameters(
    dprime: TensorVariable, spec: ModelSpec, designs: Mapping[str, Design], start: Start
) -> tuple[TensorVariable, TensorVariable]:
    """meta-d′ and M, from the scale that carries the prior; log M is NaN where M ≤ 0."""
    dims = ("cell", *spec.extra_dims(spec.scale))
    own_d = dprime[:, None] if len(dims) > 1 else dprime
    if spec.scale == "meta_d":
        meta_d = cell_parameter("meta_d", spec, designs, start, centre=own_d)
        m_ratio = meta_d / own_d
    else:
        value = cell_parameter(spec.scale, spec, designs, start)
        m_ratio = pt.exp(value) if spec.scale == "log_m" else value
        meta_d = pm.Deterministic("meta_d", m_ratio * own_d, dims=dims)
    pm.Deterministic("m_ratio", m_ratio, dims=dims)
    if spec.scale != "log_m":
        pm.Deterministic("log_m", pt.log(pt.switch(m_ratio > 0, m_ratio, np.nan)), dims=dims)
    return meta_d, m_ratio


def gap_parameters(
    kappa: TensorVariable, spec: ModelSpec, designs: Mapping[str, Design], start: Start
) -> TensorVariable:
    """Distances between type-2 criteria, (cell, response, criterion)."""
    if spec.criteria == "log_gap":
        return pt.exp(cell_parameter("log_gap", spec, designs, start))
    dims = ("cell", "response", "criterion")
    if spec.criteria == "group_sorted_normal":
        mu, sigma = (draw(name, spec.priors[name], ()) for name in DEFAULT_HYPERCRITERIA)
        return pt.exp(sorted_normal("log_gap", kappa, mu, sigma, dims))
    prior = spec.priors["criteria"].parameters
    return pt.exp(sorted_normal("log_gap", kappa, prior["mu"], prior["sigma"], dims))


def variance_ratio(
    counts: xr.DataArray, spec: ModelSpec, designs: Mapping[str, Design], start: Start
) -> TensorVariable:
    """s = σ_S1/σ_S2 of every cell; 1 where variances are equal."""
    if spec.likelihood != "unequal-variance":
        return pt.ones(counts.sizes["cell"])
    log_s = cell_parameter("log_s", spec, designs, start)
    return pm.Deterministic("s", pt.exp(log_s), dims="cell")
