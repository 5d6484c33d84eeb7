"""The population of a fit as a plain table: averages, effects, differences between people.

Fit (DataTree) → data frame, one row per quantity.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability, with_posterior
from hmetad.base.errors import ModelError
from hmetad.base.labels import number_text
from hmetad.base.monte_carlo import has_chains
from hmetad.base.variable_roles import Identity
from hmetad.bayes.check_fit import has_estimates
from hmetad.bayes.convergence import check_variable
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predict import average_conditions, covariate_means, predict
from hmetad.bayes.predicted_estimates import predict_estimates
from hmetad.compare.cells import codes_on_draws
from hmetad.compare.verdicts import with_one_dim
from hmetad.norms import describe
from hmetad.report.contents.tables import codes_in_words
from hmetad.rows.duplicates import is_people_name
from hmetad.specs.design import reference_level
from hmetad.specs.spec import ITEM_SD, SHIFT, SPREAD, ModelSpec, spec_of
from hmetad.text.names import effect_names, symbol

# What a row says, and the draws of its quantity.
type Row = tuple[dict[str, str], xr.DataArray]

SAMPLES = ("chain", "draw")
SCALES = {"log": "log of ", "logit": "logit of ", "fisher_z": "Fisher's z of "}
# What the population moves by, in its own posterior SDs, and is reported for.
CLEAR_MOVE = 0.5
ENDS = ("mean", "lower", "upper")
# Conditions that are told one by one, whatever the columns.
MOST = 8
COLUMNS = (
    *("kind", "quantity", "term"),
    *("mean", "sd", "lower", "upper", "rhat", "ess_bulk", "ess_tail", "withheld", "variable"),
)


@check_inputs(fit=with_posterior, ci_prob=probability)
def population_table(
    fit: xr.DataTree, *, labels: Mapping[str, str] | None = None, ci_prob: float = 0.95
) -> pd.DataFrame:
    """What a model with formulas says of its population, a row per quantity.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `bayes.fit_estimates` returned.
    labels : mapping of str to str, optional
        Words instead of names of columns and of their levels: ``{"group": "Diagnosis", "a":
        "Controls"}``.
    ci_prob : float, optional
        Probability of the equal-tailed intervals.

    Returns
    -------
    DataFrame
        kind: ``"population"``, values of `hmetad.predict` in every condition, of more than eight
        with columns of numbers at their means; ``"effect"``, coefficients on the scale of the
        parameter; ``"sd"``, standard deviations between the members of a group;
        ``"correlation"``, of their effects. quantity and term in words; mean, sd, lower and upper
        of the posterior; rhat, ess_bulk and ess_tail (NaN where draws do not vary or are not of
        chains); withheld: why `decide` gives no verdict on it, as codes; variable of the posterior.
        Criteria of confidence are excluded.

    Raises
    ------
    InputError
        If the model has no formula: its cells stand for themselves, see `estimate_table`.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> people = [f"s{i}" for i in range(1, 9)]
    >>> counts = simulate_counts([1.5] * 8, coords={"subject": people}, trials=1000, seed=1)
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> table = population_table(fit(counts, "group", draws=200, chains=2, **quiet))
    >>> table.query("kind == 'population'")["quantity"].tolist()
    ['M-ratio', 'd′', 'c', 'meta-d′']
    >>> table.query("kind == 'sd'")["quantity"].tolist()
    ['SD of log M-ratio by subject', 'SD of d′ by subject', 'SD of c by subject']
    """
    spec, words = spec_of(fit), labels or {}
    if has_estimates(fit):
        rows = [*estimates_rows(fit, words)]
    elif spec.formula:
        rows = [*population_rows(fit, spec, words), *variable_rows(Fitted.of(fit), words)]
    else:
        step = "hmetad.report.estimate_table has the estimates of its cells."
        raise ModelError("fit", f"a fit of {spec.name!r}", "a model with formulas", step)
    outside = (1 - ci_prob) / 2
    return pd.DataFrame([{**summary(x, outside), **said} for said, x in rows])[list(COLUMNS)]


def population_of(fit: xr.DataTree, labels: Mapping[str, str]) -> pd.DataFrame:
    """Table of the population; empty for a model without one."""
    has_one = has_estimates(fit) or spec_of(fit).formula
    return population_table(fit, labels=labels) if has_one else pd.DataFrame(columns=[*COLUMNS])


def plotted_rows(fit: xr.DataTree, table: pd.DataFrame) -> pd.DataFrame:
    """Rows of the population's quantity of interest, whose terms say why one has no verdict."""
    is_shown = (table["kind"] == "population") & (table["variable"] == spec_of(fit).record.plotted)
    return with_marks(table[is_shown])


def unreliable(row: Mapping[Any, Any]) -> str:
    """Why a row of the table has no verdict, in words; empty where there is one."""
    return f"unreliable: {codes_in_words(row['withheld'])}" if row["withheld"] else ""


def marked_term(row: Mapping[Any, Any]) -> str:
    """Term of a row, and why it has no verdict."""
    return "; ".join(filter(None, (row["term"], unreliable(row))))


def with_marks(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the table whose terms say why they have no verdict."""
    return rows.assign(term=pd.Series(map(marked_term, rows.to_dict("records")), rows.index, str))


def summary(draws: xr.DataArray, outside: float) -> dict[str, Any]:
    """Numbers of the draws (chain, draw) of one quantity, and codes of why it has no verdict."""
    checks = (np.nan,) * 3
    # What draws by weight are worth is in the table of convergence, the same for all.
    is_weighted = draws.attrs.get("sampling") == "importance"
    if has_chains(draws.attrs) and not is_weighted and np.ptp(draws.values) > 0:
        checks = tuple(x.item() for x in check_variable(draws.expand_dims("place")))
    numbers = (
        *(draws.values.mean(), draws.values.std(ddof=1)),
        *np.quantile(draws.values, [outside, 1 - outside]),
    )
    withheld = codes_on_draws(with_one_dim(draws)[0])[0]
    return dict(zip(COLUMNS[3:-1], (*numbers, *checks, withheld), strict=True))


def population_rows(fit: xr.DataTree, spec: ModelSpec, labels: Mapping[str, str]) -> Iterator[Row]:
    """Values of the population in every condition, the quantity of interest first."""
    predicted, means = predict(fit, conditions(fit)), covariate_means(fit)
    record = spec.record
    for name in dict.fromkeys((record.plotted, *record.tabulated)):
        if name not in predicted:
            continue
        stacked = predicted[name].stack(place=[x for x in predicted[name].dims if x not in SAMPLES])
        for k in range(stacked.sizes["place"]):
            one = stacked.isel(place=k)
            cell = predicted.sel(cell=one["cell"].item())
            own = [x for x in cell.coords if x not in (*SAMPLES, "cell", *cell.dims)]
            words = {str(x): number_text(cell[x].item()) for x in own}
            place = [
                f"{labels.get(x, x)} {word}" if x in means else labels.get(word, word)
                for x, word in words.items()
            ]
            place += [str(one["response"].item())] if "response" in predicted[name].dims else []
            said = {"kind": "population", "quantity": symbol(name), "term": " | ".join(place)}
            yield {**said, "variable": name}, one


def conditions(fit: xr.DataTree) -> pd.DataFrame | None:
    """Combinations of the columns of formulas; of many, with columns of numbers at their means."""
    fitted = Fitted.of(fit)
    are_few = len(fitted.cells[fitted.predictors].drop_duplicates()) <= MOST
    return average_conditions(fit, keep=fitted.predictors if are_few else ())


def variable_rows(fitted: Fitted, labels: Mapping[str, str]) -> Iterator[Row]:
    """Coefficients, standard deviations and correlations, as the posterior has them."""
    record, posterior, formulas = fitted.record, fitted.posterior, fitted.layout.formulas
    single = [p.name for p in record.parameters if p.name in formulas and not p.dims]
    single.sort(key=lambda name: name != record.parameter_of_interest)
    for name in single:
        said = {"kind": "effect", "quantity": f"Effect on {symbol(name)}"}
        terms = zip(formulas[name].design.common, formulas[name].coefficients, strict=True)
        for term, variable in terms:
            if not term.is_level:
                reference = reference_level(term, fitted.cells)
                yield from elements(said, posterior[variable.name], term.name, labels, reference)
    blocks = [
        (name, block, f"{symbol(name)} by {labels.get(block.factor, block.factor)}")
        for name in single
        for block in formulas[name].design.blocks
    ]
    for name, block, by in blocks:
        said = {"kind": "sd", "quantity": f"SD of {by}"}
        for term in block.terms:
            values = fitted.drawn("sd", name, term.name, block.factor)
            yield from elements(said, values, term.name, labels)
    for name, block, by in blocks:
        if block.is_correlated:
            values = fitted.drawn("correlation", name, block.written, block.factor)
            said = {"kind": "correlation", "quantity": f"Correlation of {by}"}
            yield from pairs(said, values, labels)
    items = fitted.layout.integrated
    if items is not None:
        names = ["log criteria" if name == SPREAD else symbol(name) for name in items.parameters]
        names = names[: len(items.sds)]
        by = f"by {labels.get(items.factor, items.factor)}"
        for name, variable in zip(names, items.sds, strict=True):
            said = {"kind": "sd", "quantity": f"SD of {name} {by}"}
            yield from elements(said, posterior[variable.name], "1", labels)
        if SHIFT in items.parameters and fitted.spec.formula[ITEM_SD] == "1":
            said = {"kind": "sd", "quantity": f"SD of the evidence {by}"}
            yield from elements(
                said, posterior["item_sd"].isel(cell=0, drop=True), "stimulus", labels
            )
        if items.correlation is not None:
            said = {"kind": "correlation", "quantity": f"Correlation of {' and '.join(names)} {by}"}
            yield from elements(said, posterior[items.correlation.name], "1", labels)


def elements(
    said: dict[str, str],
    values: xr.DataArray,
    term: str,
    labels: Mapping[str, str],
    first: str = "",
) -> Iterator[Row]:
    """A row for each element of a variable, called by its term and level."""
    called = "" if term == "1" else labels.get(term, term)
    own = [str(dim) for dim in values.dims if dim not in SAMPLES]
    if not own:
        yield {**said, "term": called, "variable": str(values.name)}, values
        return
    for level, codes in zip(values[own[0]].values, codes_on_draws(values), strict=True):
        place = f"{called}: {labels.get(str(level), level)}"
        place += f" − {labels.get(first, first)}" if first else ""
        named = {"term": place, "variable": str(values.name), "withheld": codes}
        yield {**said, **named}, values.sel({own[0]: level})


def pairs(said: dict[str, str], values: xr.DataArray, labels: Mapping[str, str]) -> Iterator[Row]:
    """A row for each pair of effects of a matrix of correlations."""
    rows, columns = (str(dim) for dim in values.dims if dim not in SAMPLES)
    names = effect_names(rows, values[rows].values, labels)
    for i, j in combinations(range(len(names)), 2):
        term = f"{names[i]}, {names[j]}"
        yield (
            {**said, "term": term, "variable": str(values.name)},
            values.isel({rows: i, columns: j}),
        )


def estimates_rows(fit: xr.DataTree, labels: Mapping[str, str]) -> Iterator[Row]:
    """Rows of a fit of estimates: predicted values, coefficients, group SDs and correlations."""
    quantity = fit.attrs["quantity"]
    predicted = predict_estimates(fit)[quantity]
    for place, label in enumerate(predicted["cell"].values.tolist()):
        words = " | ".join(labels.get(part, part) for part in label.split(" | "))
        said = {"kind": "population", "quantity": symbol(quantity), "variable": quantity}
        yield {**said, "term": "" if label == "population" else words}, predicted.isel(cell=place)
    scale = SCALES.get(fit.attrs["link"], "") + symbol(quantity)
    fitted = Fitted.of(fit)
    for name, values in fitted.posterior.items():
        identity = fitted.identities.get(str(name))
        said = variable_words(identity, scale, labels) if identity else {}
        if not said:
            continue
        places = [str(dim) for dim in values.dims if dim not in ("chain", "draw")]
        shown = dict(labels)
        if said["kind"] == "correlation":
            own = values[places[0]].values.tolist()
            shown |= dict(zip(own, effect_names(places[0], own, labels), strict=True))
        codes = codes_on_draws(values) if len(places) == 1 else []
        for number, levels in enumerate(product(*(values[x].values.tolist() for x in places))):
            if said["kind"] == "correlation" and not levels[0] < levels[1]:
                continue
            term = " | ".join(shown.get(str(level), str(level)) for level in levels)
            one = values.sel(dict(zip(places, levels, strict=True)))
            why = {"withheld": codes[number]} if codes else {}
            yield {**said, "term": term, "variable": str(name), **why}, one


def variable_words(own: Identity, scale: str, labels: Mapping[str, str]) -> dict[str, str]:
    """Kind and quantity of a variable; empty for effects of single groups and for cells."""
    groups = " and ".join(labels.get(x, x) for x in own.factor.split(":"))
    if own.role == "coefficient":
        return {"kind": "effect", "quantity": f"{scale}: {own.term}"}
    if own.role == "sd":
        of = "" if own.term == "1" else f", {own.term},"
        return {"kind": "sd", "quantity": f"SD of {scale}{of} by {groups}"}
    if own.role == "correlation":
        return {"kind": "correlation", "quantity": f"Correlation of effects by {groups}"}
    return {}


@check_inputs(fit=with_posterior)
def among_published(fit: xr.DataTree) -> list[str]:
    """Where M of a population of participants lies among published ones, a sentence per condition.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.

    Returns
    -------
    list of str
        Empty where the fit is not of meta-d′ with two alternatives, participants are not what it
        pools, or there are more than eight conditions. See `hmetad.norms`. Of a condition without a
        verdict it says why there is none.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> among_published(fit(simulate_counts([1.5], seed=1), progressbar=False, quiet=True))
    []
    """
    spec = spec_of(fit)
    factors = {block.factor for one in Fitted.of(fit).designs.values() for block in one.blocks}
    if spec.likelihood != "meta-d" or len(factors) != 1 or not is_people_name(*factors):
        return []
    table = population_table(fit)
    rows = table[(table["kind"] == "population") & (table["variable"] == "m_ratio")]
    rows = rows[rows["mean"].notna()]
    if len(rows) > MOST:
        return []
    return [
        (f"{row['term']}: " if row["term"] else "")
        + (f"{why}." if (why := unreliable(row)) else describe(*(row[x] for x in ENDS)))
        for row in rows.to_dict("records")
    ]


@check_inputs(fit=with_posterior, other=with_posterior)
def moved_populations(fit: xr.DataTree, other: xr.DataTree) -> list[str]:
    """Where M of the population moves by half its posterior SD under another choice.

    Parameters
    ----------
    fit, other : DataTree
        What `hmetad.fit` returned, and one of what `sensitivity` returned for it.

    Returns
    -------
    list of str
        A sentence for each condition that moves, with both numbers.
    """
    tables = [population_table(one).query("kind == 'population'") for one in (fit, other)]
    rows = [table[table["variable"] == "m_ratio"].to_dict("records") for table in tables]
    found = []
    for own, again in zip(*rows, strict=True):
        moves = abs(again["mean"] - own["mean"]) / own["sd"]
        if moves > CLEAR_MOVE:
            one, two = (
                f"{x['mean']:.2f} [{x['lower']:.2f}, {x['upper']:.2f}]" for x in (own, again)
            )
            place = f"{own['term']}: " if own["term"] else ""
            words = f"{place}M of the population is {one}, and {two} with {other.attrs['choice']}"
            step = unreliable(own).capitalize() or "Report both"
            found.append(f"{words}: it moves by {moves:.1f} posterior SDs. {step}.")
    return found
