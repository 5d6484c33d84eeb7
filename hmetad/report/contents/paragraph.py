"""The results of a fit as a paragraph of a manuscript, in the style of APA.

Fit (DataTree) and Decisions → text.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs, with_posterior
from hmetad.compare.decisions import Decisions
from hmetad.report.contents.estimates import convergence_record
from hmetad.report.contents.fitted import method_text
from hmetad.report.contents.population import population_table
from hmetad.report.contents.tables import reasons_withheld, with_words
from hmetad.specs.spec import spec_of
from hmetad.text.cells import format_cell
from hmetad.text.names import judged_name, symbol

__all__ = ["results_paragraph"]

# Contrasts and conditions that a paragraph names one by one.
MOST = 8
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
        probability of its sign, the share of the posterior in the ROPE and the verdict, or why
        there is none.
    labels : mapping of str to str, optional
        Words for columns and levels, as in `population_table`.

    Returns
    -------
    str
        Plain text. Numbers that cannot exceed 1, such as probabilities and correlations, have no
        zero before the point (APA, 2020, section 6.36); intervals are credible intervals (CrI).

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
        data_sentence(fit),
        method_text(fit, spec),
        sampling_sentence(fit),
        *(population_sentences(population_table(fit, labels=labels)) if spec.formula else ()),
        *(sentence for one in made for sentence in decision_sentences(one)),
    ]
    return " ".join(sentences)


def data_sentence(fit: xr.DataTree) -> str:
    """Numbers of trials, cells and ratings."""
    counts = fit["observed_data"].to_dataset()["counts"]
    cells = counts.sizes["cell"]
    return (
        f"The data were {int(counts.sum()):,} trials in {cells} cell{'' if cells == 1 else 's'}, "
        f"with {counts.sizes['rating']} levels of confidence."
    )


def sampling_sentence(fit: xr.DataTree) -> str:
    """R̂, effective draws and divergences, the same as in the tables of a report."""
    found = convergence_record(fit)
    main = symbol(spec_of(fit).record.plotted)
    rhat = "" if pd.isna(found["rhat"]) else f"the largest R̂ was {found['rhat']:.3f}, "
    number = int(found["divergences"])
    divergences = f"there {'was' if number == 1 else 'were'} {number or 'no'} divergent"
    transitions = f"transition{'' if number == 1 else 's'}"
    said = (
        f"{rhat}the effective sample size of {main} was {found['ess_bulk']:,} or more (bulk) and "
        f"{found['ess_tail']:,} or more (tails), and {divergences} {transitions}."
    )
    return said[0].upper() + said[1:]


def population_sentences(table: pd.DataFrame) -> Iterator[str]:
    """Values of the population, differences between its members and correlations."""
    values = table[table["kind"] == "population"]
    for quantity, rows in values.groupby("quantity", sort=False):
        if len(rows) <= MOST:
            told = "; ".join(f"{estimate(row)}{of_term(row['term'])}" for row in records(rows))
            yield f"In the population, {quantity} was {told}."
    for kind in ("effect", "sd", "correlation"):
        rows = table[table["kind"] == kind]
        if 0 < len(rows) <= MOST:
            is_share = kind == "correlation"
            told = "; ".join(
                f"{lower_first(str(row['quantity']))}{of_term(row['term'])} = "
                f"{estimate(row, is_share=is_share)}"
                for row in records(rows)
            )
            yield f"{told[0].upper()}{told[1:]}."


def lower_first(words: str) -> str:
    """Words with a small first letter, but for SD."""
    return words if words.startswith("SD ") else words[0].lower() + words[1:]


def records(rows: pd.DataFrame) -> list[dict[str, object]]:
    """Rows of a table by the names of its columns."""
    return [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]


def of_term(term: object) -> str:
    """A term or condition in brackets."""
    return f" ({term})" if term else ""


def estimate(row: Mapping[str, object], *, is_share: bool = False, level: str = "95% CrI") -> str:
    """Mean and interval of a row."""
    mean, lower, upper = (number(row[name], is_share=is_share) for name in MEAN_AND_BOUNDS)
    return f"{mean}, {level} [{lower}, {upper}]"


MEAN_AND_BOUNDS = ("mean", "lower", "upper")


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
    for row, reason in zip(records(table), reasons_withheld(decisions), strict=True):
        value = estimate(row, level=level)
        if row.get("undefined"):
            value += f" ({float(str(row['undefined'])):.1%} of the draws are undefined)"
        if row["verdict"] not in VERDICTS:
            why = f" ({reason})" if reason else ""
            yield f"{row['label']}: {value}, without a verdict{why}."
            continue
        yield f"{row['label']}: {value}, {shares(row)}; {VERDICTS[str(row['verdict'])]}."


def shares(row: Mapping[str, object]) -> str:
    """Probability of the sign and share in the ROPE; of an estimate with a standard error, p."""
    if "p_value" in row:
        return f"p {probability_text(float(str(row['p_value'])))}"
    inside = 100 * float(str(row["in_rope"]))
    sign = probability_text(float(str(row["p_direction"])))
    return f"P(direction) {sign}, {inside:.1f}% of the posterior inside"
