"""What a fit says of itself, once it is sampled: labels, attrs, and what is to be known of it.

Sampled tree, its count table and attrs → fit (DataTree) with notices, on itself and on each
variable. What to do about a cell whose d′ or meta-d′ may be zero or negative depends on whether the
model pools it with others: leaving out cells with a low M raises a population's mean.
Source: Fleming (2017); Guggenmos (2021).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import xarray as xr

from hmetad.base.labels import check_same_names
from hmetad.base.memory import in_words
from hmetad.base.notice import (
    CARRIED_ATTRS,
    Notice,
    first_few,
    notice_attrs,
    notice_of,
    notice_where,
    notices,
)
from hmetad.base.notice_registry import limit, step_values
from hmetad.bayes.convergence import (
    ENOUGH,
    Flags,
    convergence_notices,
    pools_m,
    sampling_flags,
    variable_notices,
)
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predict import level_draws, predicted_cells
from hmetad.bayes.program import Program
from hmetad.counts.checks import TYPE1_DIMS
from hmetad.counts.resample import counts_together
from hmetad.counts.reversed_scales import CLEAR_Z, confidence_z, reversed_scale
from hmetad.counts.tables import (
    choice_z,
    high_ratio_notices,
    is_high_ratio,
    items_together,
    type2_counts,
    without_columns,
)
from hmetad.likelihood.family import TWO_ALTERNATIVES
from hmetad.measures.sdt import at_chance, sdt
from hmetad.specs.design import reference_level
from hmetad.specs.formula import level_columns
from hmetad.specs.identification import even_ratings_notices, identification_notices
from hmetad.specs.spec import ModelSpec

NEGLIGIBLE_SHARE = 0.01
# Codes of what is thin in single cells, and what a population needs no advice about: it pools them.
THIN = {"empty-ratings", "few-errors", "few-trials"}
# Texts on M ≤ 0, by whether M is pooled and whether on the scale of its logarithm.
OF_SIGN = {
    (False, True): "meta-d-sign.cells",
    (False, False): "meta-d-sign.cells-on-m",
    (True, True): "meta-d-sign.population",
    (True, False): "meta-d-sign.population-on-m",
}
# Values of predictors at which M of the population is looked at.
MOST_POPULATIONS = 40


def finish(tree: xr.DataTree, program: Program, attrs: Mapping[str, str]) -> xr.DataTree:
    """Fit with its cells' coordinates, what it says of itself, and what is to be known of it."""
    counts, spec = program.counts, program.spec
    sampler = tree["posterior"].attrs.get("inference_library", "nutpie")
    tree = label_cells(tree, counts, spec)
    tree.attrs = {**attrs, "sampler": str(sampler)}
    tree.attrs |= {k: v for k, v in counts.attrs.items() if k in CARRIED_ATTRS and k != "notices"}
    fitted = Fitted(tree, spec, program.layout, program.crossing)
    # Who samples in rounds has judged the draws.
    flags = {} if fitted.statistics.attrs.get(ENOUGH) else sampling_flags(fitted)
    # What cells are suspected of says whose divergences may be.
    fitted = fitted.saying(fit_notices(fitted, counts))
    if program.compared is not None:
        fitted = fitted.saying(program.compared.notices(spec))
    fitted = fitted.saying(convergence_notices(fitted, flags))
    return with_variable_notices(fitted, flags)


def label_cells(tree: xr.DataTree, counts: xr.DataArray, spec: ModelSpec) -> xr.DataTree:
    """Copy of the fit: cells' coordinates in every group that has cells; counts with notices."""
    # A number of which a formula makes levels is no covariate.
    levels = level_columns(spec.formula, spec.factors)
    per_cell = {
        str(name): values.drop_attrs() if str(name) in levels else values
        for name, values in counts.coords.items()
        if values.dims == ("cell",)
    }
    groups = {name: group.to_dataset() for name, group in tree.children.items()}
    for name, group in groups.items():
        if "cell" in group.dims or name == "posterior":
            check_same_names({*per_cell} - {"cell"}, [*group.data_vars, *group.dims])
            groups[name] = group.assign_coords(per_cell)
    # Who fits the counts again has to be told what was said of them.
    carried = (*CARRIED_ATTRS, "ratings_rule")
    said = {name: counts.attrs[name] for name in carried if name in counts.attrs}
    observed = groups["observed_data"]
    groups["observed_data"] = observed.assign(counts=observed["counts"].assign_attrs(said))
    return xr.DataTree.from_dict(groups)


def with_variable_notices(fitted: Fitted, flags: Flags | None = None) -> xr.DataTree:
    """Fit whose posterior carries the notices too, and its variables each their own.

    The attrs of variables and dims also have what these are.
    """
    said = {name: fitted.tree.attrs[name] for name in CARRIED_ATTRS if name in fitted.tree.attrs}
    references = {
        variable.name: level
        for formula in fitted.layout.formulas.values()
        for term, variable in zip(formula.design.common, formula.coefficients, strict=True)
        if (level := reference_level(term, fitted.cells))
    }
    # Who tests a variable alone has to be told that its cells were drawn to each other, or that it
    # is a difference from a level, or a logarithm; "independent" would be draws of resampling.
    texts = {"pooled_over": fitted.shrunk_over, "reference": references, "link": fitted.links}
    posterior, identities = fitted.posterior, fitted.identities_of_layout
    dims = {dim: own.attrs for dim, own in fitted.layout.dims.items() if dim in posterior.coords}
    posterior = posterior.assign_coords({x: posterior[x].assign_attrs(dims[x]) for x in dims})
    concerning, shared = variable_notices(fitted, flags), said | fitted.sampling
    named = {}
    for name, values in posterior.items():
        own = {key: by_name[name] for key, by_name in texts.items() if name in by_name}
        own |= identities[str(name)].attrs if name in identities else {}
        named[name] = values.assign_attrs(shared | own | notice_attrs(concerning[str(name)]))
    posterior = posterior.assign_attrs(said).assign(named)
    return fitted.tree.assign(posterior=xr.DataTree(posterior))


def fit_notices(fitted: Fitted, counts: xr.DataArray) -> list[Notice]:
    """What is to be known of a fit of counts beside how well it was sampled."""
    ratings = counts.sizes["rating"]
    cells = {*map(str, counts["cell"].values)}
    drawn = xr.Dataset()
    if fitted.has_cells or fitted.columns_of_levels:
        drawn = fitted.posterior if fitted.has_cells else level_draws(fitted)
    high = is_high_ratio(drawn["m_ratio"]) if "m_ratio" in drawn else None
    size = in_words(fitted.bytes_of_cells(fitted.posterior))
    not_kept = notice_of("cells-not-kept", number=f"{len(cells):,}", size=size)
    # Priors of criteria weigh on M where there are many.
    many = notice_of("many-ratings", number=ratings)
    signs = list[Notice]()
    people = {x for factor in fitted.factors for x in factor} - {*fitted.predictors}
    turned = reversed_scale(counts, "reversed-scale", people)
    name = "at-chance.fitted" if "m_ratio" in fitted.record.results else "at-chance"
    chance = at_chance(counts, name=name, people=people)
    if "meta_d" in drawn:
        signs = sign_notices(fitted, counts, drawn, turned)
    answered = {"ceiling", *(one.code for one in signs)} | (THIN if pools_m(fitted) else set())
    of_cells = high_ratio_notices(high, counts) if high is not None else []
    return [
        *turned,
        *(of_population(one, fitted) if one.cells else one for one in chance),
        # Of cells that were taken out of the table there is nothing to say.
        *(
            one
            for one in notices(counts)
            if one.code not in answered and (not one.cells or cells & {*one.cells})
        ),
        *signs,
        *(high_populations(fitted, counts) or of_cells),
        *([] if fitted.has_cells else [not_kept]),
        *identification_notices(counts, fitted.spec, fitted.designs),
        *([many] if ratings > limit("many-ratings") else []),
        *even_ratings_notices(counts, fitted.designs),
    ]


def of_population(notice: Notice, fitted: Fitted) -> Notice:
    """The notice of cells in a fit: of a population, an error is one of M of these cells alone."""
    is_pooled = pools_m(fitted) and notice.severity == "error"
    return replace(notice, severity="warning") if is_pooled else notice


def sign_notices(
    fitted: Fitted, counts: xr.DataArray, drawn: xr.Dataset, turned: Sequence[Notice]
) -> list[Notice]:
    """Cells where d′ or meta-d′ may be zero or negative, and what that does to M.

    Responses alone may say what the posterior cannot, for on the scale of log M meta-d′ takes the
    sign of d′, and the ratings then bend d′. Such cells are normal in a population, which uses
    them: there all is a warning, and `variable_notices` makes it an error of M of these cells.
    """
    on_log = fitted.record.parameter_of_interest == "log_m"
    is_pooled = pools_m(fitted)
    of_dprime = "keep-and-report" if "dprime" in fitted.shrunk_over else "fit-separately"
    # One observer has too few trials of one item to show a sign.
    if fitted.has_cells:
        counts = items_together(counts)
    else:
        counts = counts_together(counts, fitted.columns_of_levels)[0]
    counts = without_columns(counts)
    by_correct = type2_counts(counts).reset_coords(drop=True)
    total, right = (
        by_correct.sum(["correct", "rating"]),
        by_correct.sel(correct="right").sum("rating"),
    )
    shown, responses = ("correct", ()) if "correct" in counts.dims else ("stimulus", "response")
    is_flat = ((counts.sum(shown) > 0).sum("rating") <= 1).all(responses) & (total > 0)
    negative, faint_choices = doubtful_choices(fitted, counts)
    may_be = (drawn["dprime"] <= 0).mean(["chain", "draw"]) > NEGLIGIBLE_SHARE
    unclear = (faint_choices | may_be) & ~negative & (not is_pooled)
    found = [
        *notice_where((right == total) & (total > 0), "no-errors.fitted"),
        *notice_where(is_flat, "all-one-rating.fitted"),
        *notice_where(negative, "dprime-sign.fitted", **step_values(of_dprime)),
        *notice_where(unclear, "dprime-sign.near", **step_values(of_dprime)),
    ]
    # Where the scale is reversed, what that does to M of single cells is no news.
    # If d′ is negative, correct and incorrect may be exchanged.
    backward = (confidence_z(counts) <= 0) & ~negative
    for one in turned:
        backward = backward & (~counts["cell"].isin(one.cells) if one.cells else False)
    number = {"number": int(backward.sum()), "cells": backward.size}
    found += notice_where(backward, OF_SIGN[is_pooled, on_log], **number)
    return [of_population(one, fitted) for one in found]


def doubtful_choices(fitted: Fitted, counts: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Where responses alone give a d′ at or below 0, and where none that is clearly above."""
    if fitted.record.layout == TWO_ALTERNATIVES:
        alone, is_empty = sdt(counts, correction="cell"), counts.sum(TYPE1_DIMS) == 0
        is_faint = alone["dprime"] < CLEAR_Z * alone["dprime_se"]
        return (alone["dprime"] <= 0) | is_empty, is_faint
    z = choice_z(counts).reset_coords(drop=True)
    return z <= 0, z < CLEAR_Z


def high_populations(fitted: Fitted, counts: xr.DataArray) -> list[Notice]:
    """Notice of the values of predictors at which the population's M is clearly above 1.5."""
    columns = fitted.predictors
    number = len(fitted.cells.groupby(columns)) if columns else 1
    if "m_ratio" not in fitted.shrunk_over or number > MOST_POPULATIONS:
        return []
    population = predicted_cells(fitted, None, group_terms=False)["m_ratio"]
    is_high = is_high_ratio(population)
    middle = population.median(["chain", "draw"])
    high = middle[{"cell": is_high.any([dim for dim in is_high.dims if dim != "cell"]).to_numpy()}]
    where = [f"{one['cell'].item()}: {one.mean():.2f}" for one in high]
    return high_ratio_notices(is_high, counts, first_few(where))
