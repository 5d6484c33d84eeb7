"""A fit of estimates in a report: population, new groups, shrinkage, fit check and method.

Fit of estimates (DataTree) → blocks.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri

from hmetad.bayes.predicted_estimates import predict_estimates
from hmetad.likelihood.families.normal import LINKS
from hmetad.notice_registry import limit
from hmetad.plots import intervals
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.estimates import estimate_table
from hmetad.report.contents.fitted import method_blocks
from hmetad.report.contents.population import population_table
from hmetad.report.contents.tables import INTERVALS
from hmetad.report.page.blocks import Block, Figure, Prose, Table, table_from_frame
from hmetad.specs.design import cell_table
from hmetad.specs.formula import formula_columns
from hmetad.specs.spec import spec_of
from hmetad.text.cells import format_cell
from hmetad.text.names import symbol
from hmetad.variable_names import name_parts

__all__ = ["estimates_blocks", "estimates_question"]

# Rows of a figure, and conditions told in words, beyond which a page is not read.
MOST_ROWS, MOST_TOLD = 40, 6
MEDIAN = " The average is the median of groups, since they differ on another scale."
SHRUNK = (
    "Each estimate has an error. The model draws estimates towards what the formula says of the "
    "others, the more the larger their errors are: this is shrinkage. Given are the estimates with "
    "95 % intervals from their own errors."
)
CHECKED = (
    "Posterior predictive p = {p}: the probability that errors are as far from the model as those "
    "of these {cells} estimates (χ² of all of them). {verdict}"
)
FITS = "Below {limit} the estimates would differ by more than the formula and their errors explain."
MISFITS = "Below {limit}: the estimates differ by more than the formula and their errors explain."
METHOD = (
    "{number} estimates with {errors} were modelled by a hierarchical normal model, {formula}{on} "
    "(Rubin, 1981; Gelman et al., 2013). {draws} {sampled}."
)
BY_WEIGHTS = (
    "independent draws were made by importance sampling of the standard deviations of groups and "
    "of their correlations (seed {seed}; Pareto k {k}, weights worth {effective} draws), and given "
    "these the coefficients and effects are exact"
)
BY_CHAINS = (
    "draws of {chains} chains were sampled by nutpie (seed {seed}) and checked by rank-normalised "
    "R̂ and effective sample sizes (Vehtari et al., 2021), since weights of importance sampling are "
    "uneven"
)


def estimates_question(fit: xr.DataTree) -> str:
    """Question that a fit of estimates answers."""
    groups = " and ".join(group_columns(fit))
    name = symbol(fit.attrs["quantity"])
    return f"What is {name}" + (f" beyond the levels of {groups} at hand?" if groups else "?")


def estimates_blocks(
    fit: xr.DataTree, told: Sequence[Block], labels: Mapping[str, str], command: str
) -> list[Block]:
    """Blocks of a fit of estimates.

    Parameters
    ----------
    fit : DataTree
        What `bayes.fit_estimates` returned.
    told : sequence of Block
        Its notices, which stand after the answer.
    labels : mapping of str to str
        Words in place of names of columns and of their levels.
    command : str
        Command line that makes it again.

    Returns
    -------
    list of Block
    """
    return [
        *population_blocks(fit, told, labels),
        *shrinkage_blocks(fit),
        check_block(fit),
        *method_blocks(fit, spec_of(fit), command, method_text(fit)),
    ]


def population_blocks(
    fit: xr.DataTree, told: Sequence[Block], labels: Mapping[str, str]
) -> list[Block]:
    """Predicted values in words, a table and a figure; then coefficients, SDs and correlations."""
    quantity, fresh = fit.attrs["quantity"], group_columns(fit)
    table, name = population_table(fit, labels=labels), symbol(quantity)
    own = table[table["kind"] == "population"].replace({"term": {"": "population"}})
    average = own.rename(columns={"term": "label"})[["label", "mean", "lower", "upper"]]
    predicted = average.reset_index(drop=True)
    if fresh:
        new = estimate_table(predict_estimates(fit, new=fresh))
        predicted["new_lower"] = new[f"{quantity}_lower"]
        predicted["new_upper"] = new[f"{quantity}_upper"]
        predicted["new"] = new[quantity]
    said = answer(predicted, name, fresh, table[table["kind"] == "sd"])
    rest = table[table["kind"] != "population"]
    columns = {"quantity": "Quantity", "term": "Term", "mean": "Mean", "lower": "Lower"}
    terms = table_from_frame(
        rest,
        "Coefficients, standard deviations of groups and correlations.",
        columns={**columns, "upper": "Upper"},
        note=INTERVALS,
        name="population-terms",
    )
    return [
        Prose("Answer", said),
        predicted_table(predicted, name, fresh, is_linked=fit.attrs["link"] != "identity"),
        *predicted_figure(predicted, name, fresh),
        *told,
        Prose("Population", ()),
        terms,
    ]


def group_columns(fit: xr.DataTree) -> list[str]:
    """Columns of the groups of a formula that have no coefficients."""
    common = formula_columns([fit.attrs["formula"].partition(" ~ ")[2]])
    named = (name_parts(str(name)) for name in fit["posterior"].data_vars)
    columns = dict.fromkeys(x for one in named if one.role == "sd" for x in one.factor.split(":"))
    return [
        x for x in columns if x in cell_table(fit["posterior"].to_dataset()) and x not in common
    ]


def answer(
    predicted: pd.DataFrame, name: str, fresh: list[str], sds: pd.DataFrame
) -> tuple[str, ...]:
    """The population, a new group and differences between groups, in sentences."""
    kept = predicted.sort_values("mean", ascending=False, kind="stable").to_dict("records")
    shown = kept if len(kept) <= MOST_TOLD else [kept[0], kept[-1]]
    groups = " and ".join(fresh)
    of = f"For an average {groups}, {name} is" if fresh else f"{name} is"
    told = [f"{of} {'; '.join(in_brackets(row) + of_label(row, kept) for row in shown)}."]
    if len(shown) < len(kept):
        told.append(f"These are the largest and the smallest of {len(kept)}.")
    if fresh:
        ends = [
            f"{format_cell(row['new_lower'])} to {format_cell(row['new_upper'])}"
            f"{of_label(row, kept)}"
            for row in shown
        ]
        told.append(f"For a new {groups} it is predicted from {'; '.join(ends)}.")
    for row in sds.to_dict("records"):
        term = f" ({row['term']})" if row["term"] else ""
        told.append(f"{row['quantity']}{term}: {in_brackets(row)}.")
    return (*told, "Numbers in brackets, and ranges of what is predicted, hold 95 %.")


def of_label(row: Mapping[Hashable, Any], rows: Sequence[Mapping[Hashable, Any]]) -> str:
    """Condition of a row, where there are several."""
    return f" for {row['label']}" if len(rows) > 1 else ""


def in_brackets(row: Mapping[Hashable, Any]) -> str:
    """Mean and interval as text."""
    mean, lower, upper = (format_cell(row[name]) for name in ("mean", "lower", "upper"))
    return f"{mean} [{lower}, {upper}]"


def predicted_table(
    predicted: pd.DataFrame, name: str, fresh: list[str], *, is_linked: bool
) -> Table:
    """Predicted value of each condition, and of it in a new group."""
    groups = " and ".join(fresh)
    columns = {"label": "Condition", "mean": "Mean", "lower": "Lower", "upper": "Upper"}
    if fresh:
        columns |= {"new_lower": f"New {groups}: lower", "new_upper": f"New {groups}: upper"}
    caption = f"{name} of the population" + (f", and of a new {groups}." if fresh else ".")
    note = INTERVALS
    if fresh:
        note += f" A new {groups}: 95 % of what is predicted for one that nobody has seen."
    note += MEDIAN if fresh and is_linked else ""
    return table_from_frame(predicted, caption, columns=columns, note=note, name="population")


def predicted_figure(predicted: pd.DataFrame, name: str, fresh: list[str]) -> list[Block]:
    """Forest of the population, with the intervals of a new group beside."""
    if not 1 < len(predicted) <= MOST_ROWS:
        return []
    beside = ("new", "new_lower", "new_upper") if fresh else None
    groups = " and ".join(fresh)
    names = ("on average", f"a new {groups}")
    ax = intervals.forest(predicted, xlabel=name, beside=beside, names=names)
    caption = f"{name} of the population" + (f" and of a new {groups}." if fresh else ".")
    alt = describe_intervals(predicted, quantity=name)
    return [Figure(caption, alt, ax.figure, "population-figure")]


def shrinkage_blocks(fit: xr.DataTree) -> list[Block]:
    """Estimates as they were given and after shrinkage: a table and a forest."""
    name, frame = symbol(fit.attrs["quantity"]), given_and_shrunk(fit)
    columns = {"label": "Cell", "given": "Given", "given_lower": "Given: lower"}
    columns |= {"given_upper": "Given: upper", "mean": "Shrunk", "lower": "Shrunk: lower"}
    columns |= {"upper": "Shrunk: upper"}
    caption = f"{name} as estimated, and after shrinkage."
    blocks: list[Block] = [Prose("Estimates, given and after shrinkage", (SHRUNK,))]
    if len(frame) <= MOST_ROWS:
        beside, names = ("given", "given_lower", "given_upper"), ("after shrinkage", "given")
        ax = intervals.forest(frame, xlabel=name, beside=beside, names=names)
        alt = describe_intervals(frame, quantity=f"{name} after shrinkage")
        blocks.append(Figure(caption, alt, ax.figure, "shrinkage"))
    return [*blocks, table_from_frame(frame, caption, columns=columns, name="estimates")]


def given_and_shrunk(fit: xr.DataTree) -> pd.DataFrame:
    """Estimates with 95 % intervals on their own scale, and their posterior."""
    observed, quantity = fit["observed_data"].to_dataset(), fit.attrs["quantity"]
    back = LINKS[fit.attrs["link"]].inverse
    estimate, se = observed["estimate"].to_numpy(), observed["se"].to_numpy()
    z = ndtri(0.975)
    shrunk = fit["posterior"][quantity].transpose("cell", ...).to_numpy().reshape(len(se), -1)
    lower, upper = np.quantile(shrunk, [0.025, 0.975], axis=1)
    return pd.DataFrame(
        {
            "label": observed["cell"].to_numpy(),
            "given": back(estimate),
            "given_lower": back(estimate - z * se),
            "given_upper": back(estimate + z * se),
            "mean": shrunk.mean(axis=1),
            "lower": lower,
            "upper": upper,
        }
    )


def check_block(fit: xr.DataTree) -> Prose:
    """Whether errors explain how far estimates are from the model."""
    p, bound = float(fit["sample_stats"]["p_fit"]), limit("estimates-misfit")
    said = (MISFITS if p < bound else FITS).format(limit=bound)
    cells = fit["observed_data"].sizes["cell"]
    checked = CHECKED.format(p=format_cell(p, ".2g"), cells=cells, verdict=said)
    return Prose("Does the model fit?", (checked,))


def method_text(fit: xr.DataTree) -> str:
    """How estimates were modelled, and the posterior sampled."""
    attrs, posterior, stats = fit.attrs, fit["posterior"], fit["sample_stats"]
    said = {"chains": str(posterior.sizes["chain"]), "seed": attrs["seed"]}
    by_chains, is_drawn = "pareto_k" not in stats, attrs.get("source") == "draws"
    if not by_chains:
        said["k"] = format_cell(float(stats["pareto_k"].max()), ".2f")
        said["effective"] = format_cell(float(stats["effective_draws"].min()), ",.0f")
    return METHOD.format(
        number=posterior.sizes["cell"],
        errors="the covariance of their draws" if is_drawn else "their standard errors",
        formula=attrs["formula"],
        on="" if attrs["link"] == "identity" else f", on the scale of the {attrs['link']}",
        draws=f"{posterior.sizes['chain'] * posterior.sizes['draw']:,}",
        sampled=(BY_CHAINS if by_chains else BY_WEIGHTS).format(**said),
    )
