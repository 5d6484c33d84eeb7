"""Maximum likelihood of any model card: estimates of every cell, and how well the model fits.

Count table and ModelSpec → Dataset with dims cell and unit. A unit is what is fitted by itself: a
cell, or the cells that formulas tie together, such as the difficulties of a person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.base.errors import ModelError
from hmetad.base.labels import check_same_names
from hmetad.base.notice import Notice, copy_notices, notice_attrs, notice_of, notice_where, notices
from hmetad.base.notice_registry import step_values
from hmetad.base.results import names_of
from hmetad.base.threads import in_threads
from hmetad.counts.checks import POOL, has_more_options
from hmetad.counts.reversed_scales import CLEAR_Z, with_scale_notices
from hmetad.counts.tables import cell_labels, choice_z, high_ratio_notices
from hmetad.measures.results import described
from hmetad.measures.sdt import Correction, added_per_response, at_chance
from hmetad.mle.crossed import best_crossed
from hmetad.mle.estimates import clearly_high, said_to_be_negative
from hmetad.mle.scoring import penalised_modes
from hmetad.mle.units import LARGEST_ERROR, Maxima, Units, maximise_units, units_of
from hmetad.specs.crossing import crossing_of
from hmetad.specs.design import cell_table, checked_counts, designs_of, given_of
from hmetad.specs.identification import identification_notices
from hmetad.specs.spec import ModelSpec

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# How far starts lie from the first one, in standard deviations of the priors.
SPREAD = 1.5
# How many there are for each parameter of the process: with half as many, other seeds found up to a
# log unit more for 3 in 60 people, where two parameters trade off.
STARTS = 4
# Of the differences that give derivatives of quantities by coefficients.
DIFFERENCE = 1e-5
# Units that are worked on together, in a thread.
TOGETHER = 128
# What each cell has beside its estimates.
OF_CELLS = ("loglik", "converged", "at_edge")
# Notices that say nothing more where d′ or M is undefined.
OF_OPEN = ("at-edge", "negative-meta-d")
# Starts keep these from the counts.
FROM_COUNTS = ("dprime", "c", "bias", "first_gap", "log_gap")


def fit_card(
    counts: xr.DataArray,
    spec: ModelSpec,
    *,
    correction: Correction = "none",
    starts: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Maximise the likelihood of a model card.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating), or those of the model's likelihood.
    spec : ModelSpec
        Without groups in brackets in its formulas, and without priors in its likelihood, as
        HMeta-d's criteria are.
    correction : {"none", "loglinear", "cell"} or float, optional
        As in `fit_mle`.
    starts, seed : int, optional
        As in `fit_mle`; the highest maximum is taken.

    Returns
    -------
    Dataset
        As `fit_mle` has it with a model.
    """
    if any(parameter.truncated_at for parameter in spec.record.parameters):
        step = "Use a card with criteria = 'log_gap', such as individual."
        raise ModelError("model", f"{spec.name!r}, whose criteria have a prior", "none", step)
    own = checked_counts(counts, spec, may_be_weighted=not spec.formula)
    check_same_names(own.coords, [*of_results(spec), *names_of("fit_card"), "unit", "of_unit"])
    compared = None
    crossing = crossing_of(own, spec)
    if crossing is not None:
        own, spec = checked_counts(crossing.counts, crossing.spec), crossing.spec
    designs, given = designs_of(own, spec), given_of(own, spec)
    ratings = own.sizes["rating"]
    table = own.to_numpy() + added_per_response(correction, ratings) / ratings
    modes = penalised_modes(table, spec.record, given).values
    found: list[tuple[Units, Maxima]]
    if crossing is not None:
        units, maxima, compared = best_crossed(crossing, designs, given, modes)
        found = [(units, maxima)]
    else:
        parts = units_of(spec, designs, given, table, TOGETHER)
        found = maximise_parts(parts, modes, starts, seed)
    fits = [
        UnitFit(units.cells[k], units.names, own.value[k], own.is_open[k], own.converged[k])
        for units, own in found
        for k in range(len(units.places))
    ]
    order = np.argsort(np.concatenate([units.places for units, _ in found]))
    fits = [fits[k] for k in order]
    labels = unit_labels(own, [fit.cells for fit in fits])
    result = label_cells(own, found).assign(label_units(own, fits, labels).data_vars)
    for one, value, se in units.of_items(maxima) if crossing is not None else ():
        name, dims = spec.named(one.name), ("cell",)[: value.ndim]
        result[name] = dims, value, one.attrs
        result[f"{name}_se"] = dims, se, {"long_name": f"standard error of {name}"}
    unit = np.empty(own.sizes["cell"], dtype=object)
    for label, fit in zip(labels, fits, strict=True):
        unit[fit.cells] = label
    result = result.assign_coords(unit=labels, of_unit=("cell", unit.astype(str)))
    result.attrs |= {
        "model": spec.name,
        "spec": (spec if crossing is None else replace(spec, formula=crossing.formula)).to_json(),
        "correction": correction if isinstance(correction, str) else float(correction),
    }
    said = [*identification_notices(own, spec, designs), *edge_notices(own, spec, fits)]
    if compared is not None:
        result.attrs |= asdict(compared)
        said += compared.notices(spec)
    if {"m_ratio", "dprime"} <= {*result}:
        said += high_ratio_notices(clearly_high(result), own)
        said += sign_notices(result, own)
    return with_scale_notices(copy_notices(result, counts, said), own)


def maximise_parts(
    parts: Sequence[Units], modes: Mapping[str, Floats], starts: int | None, seed: int
) -> list[tuple[Units, Maxima]]:
    """Units, some at a time, and their maxima; a unit has the same seed in any part."""
    seeds = np.random.SeedSequence(seed).spawn(sum(len(units.places) for units in parts))

    def work(units: Units) -> Maxima:
        firsts = zip(units.coefficients(modes), units.places, strict=True)
        points = [starting_points(units, x, starts, seeds[place]) for x, place in firsts]
        return maximise_units(units, np.stack(points))

    return [*zip(parts, in_threads(work, parts), strict=True)]


def fit_cells(
    counts: xr.DataArray,
    spec: ModelSpec,
    *,
    correction: Correction = "none",
    starts: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """`fit_card` of a model without formulas, for tables with any dims, or none, before their own.

    What is of a unit has these dims too. Estimates that the counts do not determine are NaN.
    """
    inner = spec.record.layout.dims
    table = counts.transpose(..., *inner)
    first = [str(dim) for dim in table.dims if dim not in inner]
    is_cells = first == ["cell"] and "cell" in counts.coords
    flat = table.to_numpy().reshape(-1, *table.shape[len(first) :])
    coords: dict[str, Any] = {dim: table[dim].values for dim in inner if dim in table.coords}
    coords["cell"] = table["cell"].values if is_cells else [str(i + 1) for i in range(len(flat))]
    like = table.drop_vars(POOL & {*table.coords}).isel(dict.fromkeys(inner, 0), drop=True)
    if "options" in like.coords:
        number = like["options"].broadcast_like(like).transpose(*first)
        coords["options"] = ("cell", number.to_numpy().ravel())
    own = xr.DataArray(flat, coords, ("cell", *inner))
    # The first start finds the maximum, but for some at an edge.
    starts = 1 if starts is None and not is_cells else starts
    found = without_open(fit_card(own, spec, correction=correction, starts=starts, seed=seed))
    found = found.drop_vars(set(found) - {*OF_CELLS, *of_results(spec)})
    check_same_names(like.coords, found)
    result = xr.Dataset(coords=like.coords)
    for name, x in found.items():
        values = x.to_numpy().reshape((*like.shape, *x.shape[1:]))
        result[name] = ((*first, *x.dims[1:]), values, x.attrs)
    known = {name: x for name, x in found.coords.items() if not {*x.dims} & {"cell", "unit"}}
    attrs = {name: x for name, x in found.attrs.items() if name != "notices"}
    # Of resampled tables there is nothing to say.
    said = notices(found) if is_cells else []
    return copy_notices(result.assign_coords(known).assign_attrs(attrs), counts, said)


def without_open(found: xr.Dataset) -> xr.Dataset:
    """Fit of cells without the estimates that counts leave open, by their errors; M needs both d′.

    Near a d′ of 0 M is unknown, and meta-d′ is not.
    """
    no_d, no_meta = (~(found[f"{x}_se"] <= LARGEST_ERROR) for x in ("dprime", "meta_d"))
    masks = dict.fromkeys(("dprime", "option_d"), no_d)
    masks |= dict.fromkeys(("meta_d", "m_ratio", "log_m"), no_d | no_meta)
    if "biases" in found:
        masks["biases"] = (~(found["biases_se"] <= LARGEST_ERROR)).any("response")
    own = {x: found[x].where(~no) for name, no in masks.items() for x in (name, f"{name}_se")}
    lost = {*found["cell"].values[no_d | no_meta].tolist()}
    converged = found["converged"].values & ~(no_d | no_meta).values
    said = [
        *(x for x in notices(found) if x.code not in OF_OPEN or not {*x.cells} <= lost),
        *notice_where(no_d, "undefined-dprime.options"),
        *notice_where(no_meta & ~no_d, "meta-d-unbounded.likelihood"),
    ]
    own["converged"] = found["converged"].copy(data=converged)
    return found.assign(own).assign_attrs(notice_attrs(said))


def of_results(spec: ModelSpec) -> list[str]:
    """Names of the quantities of a likelihood, and of their standard errors."""
    return [own for name in spec.record.results for own in (name, f"{name}_se")]


@dataclass(frozen=True)
class UnitFit:
    """What was found of a unit: its cells, parameters of its coefficients, ℓ, which are open."""

    cells: Integers
    names: tuple[str, ...]
    value: float
    is_open: NDArray[np.bool_]
    converged: bool

    @property
    def open_parameters(self) -> list[str]:
        """Names of parameters that the counts of the unit do not determine."""
        return list(dict.fromkeys(np.array(self.names)[self.is_open].tolist()))


def starting_points(
    units: Units, first: Floats, number: int | None, seed: np.random.SeedSequence
) -> Floats:
    """Points (number, coefficients): the first, and others at random that cover each parameter."""
    names = [p.name for p in units.likelihood.parameters if p.name not in FROM_COUNTS]
    others = STARTS * len(names) if number is None else max(number - 1, 0)
    if not (names and others):
        return first[None]
    # Of each parameter as many equally likely parts as there are points, each with one of them.
    generator = np.random.default_rng(seed)
    part = generator.permuted(np.tile(np.arange(others), (len(names), 1)), axis=1)
    steps = SPREAD * ndtri((part + generator.random(part.shape)) / others)
    moves = {
        name: own * units.likelihood.parameter(name).prior.parameters.get("sigma", 1.0)
        for name, own in zip(names, steps, strict=True)
    }
    none = np.zeros(others)
    return first + np.stack([np.r_[0.0, moves.get(own, none)] for own in units.names], axis=1)


def label_cells(counts: xr.DataArray, maxima: list[tuple[Units, Maxima]]) -> xr.Dataset:
    """Quantities of the cells with standard errors, by the delta method."""
    likelihood, cells = maxima[0][0].likelihood, counts.sizes["cell"]
    coords = {name: own for name, own in counts.coords.items() if own.dims == ("cell",)}
    values: dict[str, Floats] = {}
    for units, found in maxima:
        points, covariance = found.points, found.covariance
        estimates = units.quantities(points)
        ends = [
            (units.quantities(points + step), units.quantities(points - step))
            for step in DIFFERENCE * np.eye(points.shape[1])
        ]
        for name in likelihood.results:
            slopes = np.stack([(a[name] - b[name]) / (2 * DIFFERENCE) for a, b in ends], axis=-1)
            se = np.sqrt(np.einsum("u...i,uij,u...j->u...", slopes, covariance, slopes))
            for key, part in ((name, estimates[name]), (f"{name}_se", se)):
                whole = values.setdefault(key, np.full((cells, *part.shape[2:]), np.nan))
                whole[units.cells] = part
    result = xr.Dataset(coords=coords)
    for name, quantity in likelihood.results.items():
        dims = ("cell", *quantity.dims)
        said = {"long_name": quantity.description, "units": quantity.unit}
        result[name] = (dims, values[name], said)
        said = said | {"long_name": f"standard error of {quantity.description}"}
        result[f"{name}_se"] = (dims, values[f"{name}_se"], said)
    layout, ratings = likelihood.layout, counts.sizes["rating"]
    labels = {dim: counts[dim].values for dim in layout.dims} | layout.further_labels(ratings)
    return result.assign_coords({x: labels[x] for x in ("response", "criterion") if x in labels})


def label_units(counts: xr.DataArray, fits: list[UnitFit], labels: list[str]) -> xr.Dataset:
    """What says how well the model fits each unit, and with how many parameters."""
    raw = counts.to_numpy().reshape(counts.sizes["cell"], -1).sum(axis=1)
    n = np.array([raw[fit.cells].sum() for fit in fits])
    k = np.array([len(fit.names) for fit in fits])
    loglik = np.array([fit.value for fit in fits])
    aic = 2 * k - 2 * loglik
    with np.errstate(divide="ignore"):
        small = np.where(n > k + 1, 2 * k * (k + 1) / (n - k - 1), np.inf)
    opened = [", ".join(fit.open_parameters) for fit in fits]
    values = {
        "loglik": loglik,
        "parameters": k,
        "trials": n,
        "aic": aic,
        "aicc": aic + small,
        "bic": k * np.log(n) - 2 * loglik,
        "converged": np.array([fit.converged for fit in fits]),
        "at_edge": np.array([bool(text) for text in opened]),
        "edge": np.array(opened, dtype=str),
    }
    return described(xr.DataArray(n, {"unit": labels}, "unit"), values, "fit_card")


def edge_notices(counts: xr.DataArray, spec: ModelSpec, fits: list[UnitFit]) -> list[Notice]:
    """Notices of units whose fit lies at an edge, and of those that were not maximised."""
    cells = counts["cell"].to_numpy()
    names: dict[str, list[str]] = {}
    lost: list[str] = []
    for fit in fits:
        own = list(map(str, cells[fit.cells]))
        for name in fit.open_parameters:
            names.setdefault(name, []).extend(own)
        if not (fit.converged or fit.is_open.any()):
            lost += own
    said = [notice_of("not-converged.card", lost)] if lost else []
    for name, own in names.items():
        what = "" if "|" in name else spec.record.parameter(name).description
        said.append(notice_of("at-edge", own, parameter=name, what=what))
    return said


def sign_notices(result: xr.Dataset, counts: xr.DataArray) -> list[Notice]:
    """Notices of choices among options that are not clearly right more often than by chance."""
    if not ("correct" in counts.dims or has_more_options(counts)):
        return []
    # An observer of a single response has any d′ by the letters, and a z of 0.
    is_below, is_near = result["dprime"] <= 0, choice_z(counts) < CLEAR_Z
    return [
        *at_chance(counts, result),
        *notice_where(is_below, "dprime-sign.below-chance"),
        *notice_where(is_near & ~is_below, "dprime-sign.near", **step_values("compare-meta-d")),
        *notice_where(said_to_be_negative(result), "negative-meta-d"),
    ]


def unit_labels(counts: xr.DataArray, units: list[Integers]) -> list[str]:
    """A label for each unit, from its cells: what they have in common, as cells are labelled."""
    firsts = [cells[0] for cells in units]
    by_cell = counts["cell"].to_numpy()[firsts].astype(str).tolist()
    if all(len(cells) == 1 for cells in units):
        return by_cell
    if len(units) == 1:
        return ["all"]
    table = cell_table(counts)
    shared = [x for x in table if all(table[x].iloc[cells].nunique() == 1 for cells in units)]
    first = pd.DataFrame(table[shared].iloc[firsts])
    return by_cell if first.duplicated().any() or not shared else cell_labels(first)
