"""A fit of estimates in a report: population, new groups, shrinkage, fit check and method.

Fit of estimates (DataTree) → blocks.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri

from hmetad.base.notice_registry import limit
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predicted_estimates import predict_estimates
from hmetad.likelihood.families.normal import LINKS
from hmetad.report.contents.answer import MOST_CONDITIONS, population_sentence
from hmetad.report.contents.estimates import estimate_table
from hmetad.report.contents.population import with_marks
from hmetad.report.contents.tables import INTERVALS, forest_figure, method_blocks
from hmetad.report.page.blocks import Block, Prose, interval_cell, table_from_frame
from hmetad.specs.design import cell_table
from hmetad.specs.formula import formula_columns
from hmetad.specs.spec import spec_of
from hmetad.text.cells import format_cell
from hmetad.text.names import symbol

# Rows of a figure beyond which a page is not read.
MOST_ROWS = 40
SIDES, GIVEN = ("mean", "lower", "upper"), ("given", "given_lower", "given_upper")
TERMS = {"quantity": "Quantity", "term": "Term"} | {x: x.capitalize() for x in SIDES}
MEDIAN = " The average is the median of groups, since they differ on another scale."
SHRUNK = (
    "Partial pooling: the model draws estimates towards what the formula predicts from the others, "
    "the more the larger their errors. Given: estimates with 95 % intervals from their errors."
)
CHECKED = (
    "Posterior predictive p = {p}: the probability of deviations from the model as large as these "
    "of {cells} estimates (χ² of all of them). {verdict}"
)
FITS = "Below {limit} the estimates would differ by more than the formula and their errors explain."
MISFITS = "Below {limit}: the estimates differ by more than the formula and their errors explain."
METHOD = (
    "{number} estimates with {errors} were modelled by a hierarchical normal model, {formula}{on} "
    "(Rubin, 1981; Gelman et al., 2013). {draws} draws of {chains} chains "
    "were sampled by nutpie (seed {seed}) and checked by rank-normalised R̂ and effective sample "
    "sizes (Vehtari et al., 2021)."
)


def estimates_question(fit: xr.DataTree) -> str:
    """Question that a fit of estimates answers."""
    groups = " and ".join(group_columns(fit))
    name = symbol(fit.attrs["quantity"])
    return f"What is {name}" + (f" beyond the levels of {groups} in these data?" if groups else "?")


def estimates_blocks(
    fit: xr.DataTree, told: Sequence[Block], table: pd.DataFrame, command: str
) -> list[Block]:
    """Blocks of a fit of estimates.

    Parameters
    ----------
    fit : DataTree
        What `bayes.fit_estimates` returned.
    told : sequence of Block
        Its notices, which stand after the answer.
    table : DataFrame
        What `population_table` returned for it.
    command : str
        Command line that makes it again.

    Returns
    -------
    list of Block
    """
    groups = " and ".join(group_columns(fit))
    rest = with_marks(table[table["kind"] != "population"])
    caption = "Coefficients, standard deviations of groups and correlations."
    named: dict[str, Any] = {"note": INTERVALS, "name": "population-terms"}
    return [
        *answer_blocks(fit, table, groups),
        *told,
        Prose("Population", ()),
        table_from_frame(rest, caption, columns=TERMS, **named),
        *shrinkage_blocks(fit),
        check_block(fit),
        *method_blocks(fit, spec_of(fit), command, method_text(fit)),
    ]


def group_columns(fit: xr.DataTree) -> list[str]:
    """Columns of the groups of a formula that have no coefficients."""
    common = formula_columns([fit.attrs["formula"].partition(" ~ ")[2]])
    factors = [x.factor for x in Fitted.of(fit).identities.values() if x.role == "sd"]
    columns = dict.fromkeys(x for factor in factors for x in factor.split(":"))
    known = cell_table(fit["posterior"].to_dataset())
    return [x for x in columns if x in known and x not in common]


def answer_blocks(fit: xr.DataTree, table: pd.DataFrame, groups: str) -> list[Block]:
    """Values of the population, and of a new group: in words, a table and a figure."""
    quantity, name = fit.attrs["quantity"], symbol(fit.attrs["quantity"])
    own = with_marks(table[table["kind"] == "population"])
    shown = own.replace({"term": {"": "population"}}).rename(columns={"term": "label"})
    predicted = shown[["label", *SIDES]].reset_index(drop=True)
    columns, note = {"label": "Condition"} | {x: x.capitalize() for x in SIDES}, INTERVALS
    caption, beside = f"{name} of the population", None
    if groups:
        new = estimate_table(predict_estimates(fit, new=group_columns(fit)))
        beside = ("new", "new_lower", "new_upper")
        for side, source in zip(beside, ("", "_lower", "_upper"), strict=True):
            predicted[side] = new[f"{quantity}{source}"]
        columns |= {"new_lower": f"New {groups}: lower", "new_upper": f"New {groups}: upper"}
        note += f" A new {groups}: 95 % of what is predicted for one that nobody has seen."
        note += MEDIAN if fit.attrs["link"] != "identity" else ""
    said = (population_sentence(own), *answer(predicted, groups, table[table["kind"] == "sd"]))
    blocks: list[Block] = [
        Prose("Answer", said),
        table_from_frame(
            predicted,
            f"{caption}, and of a new {groups}." if groups else f"{caption}.",
            columns=columns,
            note=note,
            name="population",
        ),
    ]
    if 1 < len(predicted) <= MOST_ROWS:
        words = f"{caption} and of a new {groups}." if groups else f"{caption}."
        options: dict[str, Any] = {"beside": beside, "names": ("on average", f"a new {groups}")}
        blocks.append(forest_figure(predicted, name, words, "population-figure", **options))
    return blocks


def answer(predicted: pd.DataFrame, groups: str, sds: pd.DataFrame) -> Iterator[str]:
    """A new group and differences between groups, in sentences."""
    if groups:
        named = len(predicted) > 1
        ends = [
            f"{format_cell(row['new_lower'], '.2f')} to {format_cell(row['new_upper'], '.2f')}"
            + f" ({row['label']})" * named
            for row in predicted.head(MOST_CONDITIONS).to_dict("records")
        ]
        yield f"For a new {groups} it is predicted from {'; '.join(ends)}, with 95 % probability."
    for row in sds.to_dict("records"):
        term = f" ({row['term']})" if row["term"] else ""
        yield f"{row['quantity']}{term}: {in_brackets(row)}."


def in_brackets(row: Mapping[Hashable, Any]) -> str:
    """Mean and interval as text."""
    return interval_cell(row[name] for name in SIDES).text


def shrinkage_blocks(fit: xr.DataTree) -> list[Block]:
    """Estimates with 95 % intervals on their own scale, as given and after shrinkage."""
    observed, quantity = fit["observed_data"].to_dataset(), fit.attrs["quantity"]
    estimate, se = observed["estimate"].to_numpy(), observed["se"].to_numpy()
    ends = zip(GIVEN, (0, -ndtri(0.975), ndtri(0.975)), strict=True)
    given = {side: LINKS[fit.attrs["link"]].inverse(estimate + z * se) for side, z in ends}
    shrunk = fit["posterior"][quantity].transpose("cell", ...).to_numpy().reshape(len(se), -1)
    lower, upper = np.quantile(shrunk, [0.025, 0.975], axis=1)
    sides = {"mean": shrunk.mean(axis=1), "lower": lower, "upper": upper}
    frame = pd.DataFrame({"label": observed["cell"].to_numpy(), **given, **sides})
    titles = ("Given", "Given: lower", "Given: upper", "Shrunk", "Shrunk: lower", "Shrunk: upper")
    columns = {"label": "Cell", **dict(zip((*GIVEN, *SIDES), titles, strict=True))}
    name = symbol(quantity)
    caption = f"{name} as estimated, and after shrinkage."
    blocks: list[Block] = [Prose("Estimates, given and after shrinkage", (SHRUNK,))]
    if len(frame) <= MOST_ROWS:
        options: dict[str, Any] = {"beside": GIVEN, "names": ("after shrinkage", "given")}
        options["alt"] = f"{name} after shrinkage"
        blocks.append(forest_figure(frame, name, caption, "shrinkage", **options))
    return [*blocks, table_from_frame(frame, caption, columns=columns, name="estimates")]


def check_block(fit: xr.DataTree) -> Prose:
    """Whether errors explain how far estimates are from the model."""
    p, bound = float(fit["sample_stats"]["p_fit"]), limit("estimates-misfit")
    said = (MISFITS if p < bound else FITS).format(limit=bound)
    cells = fit["observed_data"].sizes["cell"]
    checked = CHECKED.format(p=format_cell(p, ".2g"), cells=cells, verdict=said)
    return Prose("Does the model fit?", (checked,))


def method_text(fit: xr.DataTree) -> str:
    """How estimates were modelled, and the posterior sampled."""
    attrs, posterior = fit.attrs, fit["posterior"]
    is_drawn = attrs.get("source") == "draws"
    return METHOD.format(
        number=posterior.sizes["cell"],
        errors="the covariance of their draws" if is_drawn else "their standard errors",
        formula=attrs["formula"],
        on="" if attrs["link"] == "identity" else f", on the scale of the {attrs['link']}",
        draws=f"{posterior.sizes['chain'] * posterior.sizes['draw']:,}",
        chains=posterior.sizes["chain"],
        seed=attrs["seed"],
    )
