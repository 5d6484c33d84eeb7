"""The results of a fit as a paragraph of a manuscript, in the style of APA.

Fit (DataTree) and Decisions → text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_posterior
from hmetad.base.notice import first_few, notices
from hmetad.base.notice_registry import short_words
from hmetad.bayes.fitted import Fitted
from hmetad.compare.decisions import Decisions
from hmetad.counts.tables import items_together, without_columns
from hmetad.mle.meta_d import fit_mle
from hmetad.report.contents.crossed import crossed_sentences, crossed_table
from hmetad.report.contents.estimates import (
    cells_withheld,
    convergence_by_variable,
    convergence_record,
)
from hmetad.report.contents.population import marked_term, population_table
from hmetad.report.contents.tables import method_text, reasons_withheld, with_words
from hmetad.specs.design import cell_table
from hmetad.specs.spec import spec_of
from hmetad.text.cells import format_cell
from hmetad.text.names import judged_name

# Contrasts and conditions that a paragraph names one by one.
MOST = 8
# What one member of a grouping column is called.
PEOPLE = dict.fromkeys(
    ("subject", "participant", "person", "observer", "subject_id", "participant_id"), "people"
)
OF_SAMPLING = ("divergences", "rhat", "ess", "one-chain", "pareto-k")
LEFT_OUT = ("rows-dropped", "confidence-missing", "abstained")
ESS = (("ess_bulk", "bulk"), ("ess_tail", "tails"))
VERDICTS = {
    "different": "the interval lies outside the region of practical equivalence",
    "negligible": "the interval lies inside the region of practical equivalence",
    "inconclusive": "the interval overlaps an end of the region of practical equivalence",
}


@check_inputs(fit=with_posterior)
def results_paragraph(
    fit: xr.DataTree,
    decisions: Decisions | Sequence[Decisions] = (),
    *,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Methods and results in sentences, with the numbers of the fit and of the decisions.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    decisions : Decisions or sequence of Decisions, optional
        What `decide` returned for contrasts of the fit. Each is told with its interval, the
        probability of its sign, the proportion of the posterior in the ROPE and the verdict, or why
        there is none.
    labels : mapping of str to str, optional
        Words for columns and levels, as in `population_table`.

    Returns
    -------
    str
        Plain text. If chains failed, or an error concerns the entire fit, it says first that the
        estimates are not to be reported, and why. It counts trials, participants, cells, rows that
        were excluded, and participants whose own M is at or below 0; says whose M is not judged;
        has the formulas and the version; and names the worst variables of all that was sampled.
        Numbers that cannot exceed 1, such as probabilities and correlations, have no zero before
        the point (APA, 2020, section 6.36); intervals are credible intervals (CrI).

    Raises
    ------
    InputError
        If `fit` is no fit.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=5000, seed=1), draws=200, chains=2, **quiet)
    >>> results_paragraph(drawn).startswith("The data were 5,000 trials in 1 cell")
    True
    """
    made = [decisions] if isinstance(decisions, Decisions) else list(decisions)
    made = [with_words(one, labels) for one in made]
    spec = spec_of(fit)
    sentences = [
        *reliance_sentences(fit),
        *data_sentences(fit, labels or {}),
        *sign_sentences(fit),
        *undetermined_sentences(fit),
        method_text(fit, spec),
        sampling_sentence(fit),
        *(crossed_sentences(fit, crossed_table(fit)) if Fitted.of(fit).crossing else ()),
        *(population_sentences(population_table(fit, labels=labels)) if spec.formula else ()),
        *(sentence for one in made for sentence in decision_sentences(one)),
    ]
    return " ".join(sentences)


def reliance_sentences(fit: xr.DataTree) -> Iterator[str]:
    """What of the sampling failed, before any estimate; and what failed beside these."""
    errors = [one for one in notices(fit) if one.severity == "error"]
    failed = [one for one in errors if one.code in OF_SAMPLING or not one.cells]
    record, posterior = spec_of(fit).record, fit["posterior"].data_vars
    told = {*record.tabulated, record.parameter_of_interest}
    stems = tuple(f"{name}_" for name in told)
    shown = [x for name, x in posterior.items() if name in told or str(name).startswith(stems)]
    codes = {n.code for x in shown for n in notices(x) if n.severity == "error"}
    here, beside = ([x for x in failed if (x.code in codes) == own] for own in (True, False))
    cells = dict.fromkeys(cell for one in here for cell in one.cells)
    are_some = all(one.cells for one in here)
    whose = f"The estimates of {first_few(cells, ', ')}" if are_some else "These estimates"
    for found, opening in (
        (here, f"{whose} must not be reported before the following is fixed."),
        (beside, "What follows failed in parts of the model that no estimate here rests on."),
    ):
        if found:
            yield opening
        for one in found:
            where = of_term(first_few(one.cells, ", ") if one.cells else "")
            yield f"{one.message.removesuffix('.')}{where}."


def data_sentences(fit: xr.DataTree, labels: Mapping[str, str]) -> Iterator[str]:
    """Numbers of trials, people, cells and ratings, and of rows that were left out, and why."""
    fitted, cells = Fitted.of(fit), fit["posterior"].sizes["cell"]
    counts, crossing = fitted.counts, fitted.crossing
    words = {name: f"levels of {labels.get(name, name)}" for name in grouping_columns(fit)}
    levels = [f"{len(np.unique(counts[x])):,} {PEOPLE.get(x, words[x])}" for x in words]
    levels += [f"{len(crossing.levels):,} levels of {crossing.factor}"] if crossing else []
    of_whom = f"of {' and '.join(levels)} " if levels else ""
    ratings = counts.sizes["rating"]
    has_levels = f"with {ratings} levels of confidence" if ratings > 1 else "without confidence"
    rule = str(counts.attrs.get("ratings_rule", "")).partition(", ")[2]
    binned = rule if rule.startswith("quantiles") else ""
    yield (
        f"The data were {int(counts.sum()):,} trials {of_whom}"
        f"in {cells} cell{'' if cells == 1 else 's'}, "
        f"{has_levels}{of_term(binned)}."
    )
    yield from (one.message for one in notices(fit) if one.code in LEFT_OUT)


def undetermined_sentences(fit: xr.DataTree) -> Iterator[str]:
    """Cells whose M is not judged, and why."""
    found = cells_withheld(fit)
    withheld = {code: cells for code, cells in found.items() if code not in OF_SAMPLING}
    if withheld:
        number = len({cell for cells in withheld.values() for cell in cells})
        listed = "; ".join(
            f"{short_words(code)} in {first_few(cells, ', ')}" for code, cells in withheld.items()
        )
        yield f"M was not judged in {number} of {fit['posterior'].sizes['cell']} cells: {listed}."


def grouping_columns(fit: xr.DataTree) -> list[str]:
    """Columns of the cells whose levels are people, or other groups of the model."""
    columns = [name for factor in Fitted.of(fit).factors for name in factor]
    people = [name for name in cell_table(fit["posterior"].to_dataset()) if name in PEOPLE]
    return list(dict.fromkeys([*people, *columns]))


def sign_sentences(fit: xr.DataTree) -> Iterator[str]:
    """How many people have an M at or below 0, or none, in their own counts."""
    if "meta_d" not in spec_of(fit).record.results:
        return
    counts = fit["observed_data"].to_dataset()["counts"]
    alone = fit_mle(without_columns(items_together(counts)))
    own = [name for name in grouping_columns(fit) if name in PEOPLE][:1]
    whose = counts[own[0]].to_numpy() if own else counts["cell"].to_numpy()
    unit = PEOPLE[own[0]] if own else "cells"
    is_low = (alone["m_ratio"] <= 0) | (alone["dprime"] <= 0)
    has_none = alone["m_ratio"].isnull() & ~is_low
    low, none = (len(np.unique(whose[mask.to_numpy()])) for mask in (is_low, has_none))
    undefined = f", and undefined in {none}" if none else ""
    yield (
        f"By maximum likelihood, M or d′ was at or below 0 in {low or 'none'} of "
        f"{len(np.unique(whose)):,} {unit}{undefined}."
    )


def sampling_sentence(fit: xr.DataTree) -> str:
    """R̂, effective draws and divergences of all that was sampled, with the worst variables."""
    checks = convergence_by_variable(fit)
    number = convergence_record(fit)["divergences"]
    said = []
    if checks["rhat"].notna().any():
        said.append(f"the largest R̂ was {checks['rhat'].max():.3f} ({checks['rhat'].idxmax()})")
    least = [
        f"{int(checks[name].min()):,} ({checks[name].idxmin()}; {where})" for name, where in ESS
    ]
    said.append(f"the smallest effective sample sizes were {' and '.join(least)}")
    divergences = f"there {'was' if number == 1 else 'were'} {number or 'no'} divergent"
    said.append(f"{divergences} transition{'' if number == 1 else 's'}")
    return f"Of all that was sampled, {', '.join(said[:-1])}, and {said[-1]}."


def population_sentences(table: pd.DataFrame) -> Iterator[str]:
    """Values of the population, differences between its members and correlations."""
    values = table[table["kind"] == "population"]
    for quantity, rows in values.groupby("quantity", sort=False):
        if len(rows) <= MOST:
            found = [f"{estimate(x)}{of_term(marked_term(x))}" for x in rows.to_dict("records")]
            yield f"In the population, {quantity} was {'; '.join(found)}."
    for kind in ("effect", "sd", "correlation"):
        rows = table[table["kind"] == kind]
        if 0 < len(rows) <= MOST:
            is_share = kind == "correlation"
            listed = [
                f"{row['quantity']}{of_term(marked_term(row))} = {estimate(row, is_share=is_share)}"
                for row in rows.to_dict("records")
            ]
            # Within a sentence words begin small, but for SD.
            rest = [x if x.startswith("SD ") else x[0].lower() + x[1:] for x in listed[1:]]
            yield f"{'; '.join([listed[0], *rest])}."


def of_term(term: object) -> str:
    """A term or condition in brackets."""
    return f" ({term})" if term else ""


def estimate(row: Mapping[Any, Any], *, is_share: bool = False, level: str = "95% CrI") -> str:
    """Mean and interval of a row."""
    mean, lower, upper = (number(row[x], is_share=is_share) for x in ("mean", "lower", "upper"))
    return f"{mean}, {level} [{lower}, {upper}]"


def number(value: object, *, is_share: bool = False) -> str:
    """Two decimals; without the zero before the point where a value cannot exceed 1."""
    text = format_cell(value, "z.2f")
    return text.replace("0.", ".", 1) if is_share and text.lstrip("−").startswith("0.") else text


def probability_text(value: float) -> str:
    """A probability by three decimals, or as an inequality where they would be 0 or 1.

    Examples
    --------
    >>> probability_text(0.987), probability_text(0.99999), probability_text(1e-6)
    ('= .987', '> .999', '< .001')
    """
    if value > 0.9995:
        return "> .999"
    if value < 0.0005:
        return "< .001"
    return f"= {value:.3f}".replace("0.", ".", 1)


def decision_sentences(decisions: Decisions) -> Iterator[str]:
    """A sentence for each decision, or one for many."""
    table = decisions.table()
    name = judged_name(decisions.quantity, is_contrast="kind" in decisions.results.attrs)
    low, high = (format_cell(end, "g") for end in decisions.rope)
    prob = 100 * (1 - (1 - decisions.ci_prob) / decisions.comparisons)
    level = f"{prob:.4g}% {'CI' if decisions.ci_kind == 'normal' else 'CrI'}"
    yield f"{name} was judged against a region of practical equivalence from {low} to {high}."
    if len(table) > MOST:
        counted = table["verdict"].value_counts()
        told = ", ".join(f"{count} {verdict}" for verdict, count in counted.items())
        yield f"Of {len(table)} comparisons, the verdicts were: {told}."
        return
    for row, reason in zip(table.to_dict("records"), reasons_withheld(decisions), strict=True):
        value, verdict = estimate(row, level=level), str(row["verdict"])
        if row.get("undefined"):
            value += f" ({row['undefined']:.1%} of the draws are undefined)"
        if verdict in VERDICTS:
            yield f"{row['label']}: {value}, {shares(row)}; {VERDICTS[verdict]}."
        else:
            yield f"{row['label']}: {value}, without a verdict{of_term(reason)}."


def shares(row: Mapping[Any, Any]) -> str:
    """Probability of the sign and share in the ROPE; of an estimate with a standard error, p."""
    if "p_value" in row:
        return f"p {probability_text(row['p_value'])}"
    sign = probability_text(row["p_direction"])
    inside = f"P(direction) {sign}, {100 * row['in_rope']:.1f}% of the posterior inside"
    return f"{inside}, {evidence(row)}" if row.get("bf10", 0) > 0 else inside


def evidence(row: Mapping[Any, Any]) -> str:
    """Bayes factor of a row, and by priors half and twice as wide.

    Examples
    --------
    >>> evidence({"bf10": 12.3, "bf10_bound": "at least", "bf10_half": 20.1, "bf10_double": 6.2})
    "BF₁₀ ≥ 12 by the fit's prior (with priors half and twice as wide: 20 and 6.2)"
    """
    sign = "≥" if row["bf10_bound"] else "="
    values = (row[f"bf10{width}"] for width in ("", "_half", "_double"))
    factor, half, double = (
        "unknown" if x != x else f"{x:,.0f}" if x >= 100 else f"{x:.2g}" for x in values
    )
    widths = f"with priors half and twice as wide: {half} and {double}"
    return f"BF₁₀ {sign} {factor} by the fit's prior ({widths})"
