"""Decisions, notices and method as blocks of a report, which every report shares.

Decisions, or fits → Table, Figure, Alerts or Prose.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.notice import Notice, notices, with_notices
from hmetad.base.notice_registry import limit, short_words
from hmetad.base.untrusted import read_attr
from hmetad.base.variable_roles import identity_of
from hmetad.compare.decisions import Decisions
from hmetad.compare.words import COLUMNS, correction_words, headings
from hmetad.plots import intervals
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.estimates import convergence_record
from hmetad.report.page.blocks import Alerts, Block, Cell, Figure, Prose, Table, table_from_frame
from hmetad.specs.spec import ModelSpec
from hmetad.text.cells import format_cell
from hmetad.text.names import in_percent, interval_kind, symbol

# What stands above estimates.
INTERVALS = "Posterior means with 95 % equal-tailed intervals."

# Notices without which an answer is misread: they stand before it, and with the others at the end.
BEFORE_THE_ANSWER = (
    *("mixed-scales", "confidence-missing", "correct-missing", "not-probabilities"),
    *("unequal-items", "counted-wrong", "reversed-scale"),
)
# Starts of the names of logarithms.
LOGS = ("log_", "log ratio of ")
# Between the levels in the label of a contrast.
SEPARATORS = re.compile(r"( − | \| |[()])")

METHOD = (
    "Counts were modelled by {card}: {method}{formulas} {draws} draws "
    "of {sampling}. "
    "Cells of one fit are compared draw by draw; verdicts follow Kruschke (2018)."
)
SAMPLING = {
    "nuts": "{chains} chains were sampled by {sampler} (seed {seed}) and checked by "
    "rank-normalised R̂ and effective sample sizes (Vehtari et al., 2021)",
    "importance": "each cell were made by importance sampling (seed {seed}) and checked by the "
    "Pareto k of their weights (Vehtari et al., 2024){again}",
}


def decision_table(
    decisions: Decisions, caption: str, *, in_print: Sequence[str] | None = None, name: str = ""
) -> Table:
    """Decisions, one row per contrast or cell.

    Parameters
    ----------
    decisions : Decisions
    caption : str
        What is judged.
    in_print : sequence of str, optional
        What a paper says of each, for a last column.
    name : str
        Stem of the table's file.

    Returns
    -------
    Table
    """
    frame = decisions.table()
    words = {True: "yes", False: "no"}
    frame["statistical"] = [words.get(answer) for answer in frame["statistical"]]
    frame["withheld"] = reasons_withheld(decisions)
    columns = headings(frame.to_dict("records"), "page", format_cell(decisions.null, "g"))
    if in_print is not None:
        frame["in_print"] = list(in_print)
        columns["in_print"] = "In print"
    table = table_from_frame(
        frame, caption, columns=columns, note=interval_note(decisions), name=name
    )
    return replace(table, decisions=decisions)


@check_inputs()
def reasons_withheld(decisions: Decisions) -> list[str]:
    """Why there is no verdict, in words; empty where there is one.

    Parameters
    ----------
    decisions : Decisions
        What `decide` or `decide_normal` returned.

    Returns
    -------
    list of str
        One for each row of its table.

    Examples
    --------
    >>> from hmetad.compare.verdicts import decide_normal
    >>> reasons_withheld(decide_normal([0.1, float("nan")], 0.1, rope=(-0.1, 0.1)))
    ['', 'undefined draws']
    """
    said = []
    for row in decisions.table().to_dict("records"):
        is_unsettled = "verdict" in str(row.get("unsettled", ""))
        codes = f"{row.get('withheld', '')}, {'unsettled' if is_unsettled else ''}"
        said.append(codes_in_words(codes) if row["verdict"] == "unreliable" else "")
    return said


def codes_in_words(codes: str) -> str:
    """Codes of a withheld verdict, as `Decisions` joins them, in words.

    Examples
    --------
    >>> codes_in_words("rhat, ess, few-draws")
    'R̂ above 1.01; low ESS'
    """
    named = [code for code in codes.split(", ") if code]
    return "; ".join(dict.fromkeys(map(short_words, named)))


def decision_figure(decisions: Decisions, caption: str, *, name: str = "") -> Figure:
    """Intervals of decisions against the region of practical equivalence."""
    quantity = symbol(decisions.quantity)
    alt = describe_intervals(decisions.table(), group="verdict", quantity=quantity)
    return Figure(caption, alt, intervals.decisions(decisions).figure, name)


def forest_figure(
    frame: pd.DataFrame, quantity: str, caption: str, name: str, *, alt: str = "", **options: Any
) -> Figure:
    """Intervals of a quantity in rows; options are those of `forest`."""
    ax = intervals.forest(frame, xlabel=quantity, **options)
    return Figure(caption, describe_intervals(frame, quantity=alt or quantity), ax.figure, name)


def interval_note(decisions: Decisions) -> str:
    """What interval, what ROPE, what correction, and what the columns mean."""
    level = in_percent(1 - (1 - decisions.ci_prob) / decisions.comparisons)
    kind = interval_kind(decisions.ci_kind)
    note = f"{level} {kind} intervals; ROPE {rope_in_words(decisions)}. "
    note += "P(dir.): probability of the more likely sign."
    said = correction_words(decisions.comparisons, decisions.results["verdict"].size)
    return f"{note} {said[0].upper()}{said[1:]}." if said else note


def with_words(decisions: Decisions, labels: Mapping[str, str] | None) -> Decisions:
    """Decisions whose labels have words in place of the names of levels."""
    if not labels:
        return decisions
    results = decisions.results
    dim = next(iter(results.dims))
    written = [
        "".join(labels.get(part, part) for part in SEPARATORS.split(str(label)))
        for label in results[dim].values
    ]
    known = {column.name for column in COLUMNS}
    levels = [str(k) for k, x in results.coords.items() if x.dtype.kind == "U" and k not in known]
    words: dict[str, Any] = {
        name: (dim, np.array([labels.get(x, x) for x in results[name].values.tolist()]))
        for name in levels
        if name != dim
    }
    words[str(dim)] = (dim, np.array(written), results[dim].attrs)
    named = results.assign_coords(words)
    if "reference" in named.attrs:
        first = str(named.attrs["reference"])
        named = named.assign_attrs(reference=labels.get(first, first))
    return replace(decisions, results=named)


def rope_in_words(decisions: Decisions) -> str:
    """Limits of the region of practical equivalence; of a logarithm also in percent."""
    shown = " to ".join(format_cell(limit, "g") for limit in decisions.rope)
    quantity = decisions.quantity
    if not quantity.startswith(LOGS) or max(map(abs, decisions.rope)) > 1:
        return shown
    percent = " to ".join(f"{100 * np.expm1(end):+.0f} %" for end in decisions.rope)
    return f"{shown} on the log scale ({percent.replace('-', '−')})"


def convergence_table(fits: Mapping[str, xr.DataTree]) -> Table:
    """Draws, R̂, effective sample sizes and divergences of fits, by name."""
    rows: list[tuple[Cell, ...]] = []
    for name, fit in fits.items():
        rows.append((name, *convergence_record(fit).values()))
    headings = ("Model", "Draws", "Largest R̂", "Least bulk ESS", "Least tail ESS", "Divergences")
    whole = tuple((heading, ",d") for heading in (headings[1], *headings[3:]))
    caption = (
        "Convergence of all that was sampled. R̂ (rank-normalised) should be ≤ "
        f"{limit('rhat')}, effective draws (ESS) ≥ {limit('ess')}, without divergences."
    )
    formats = ((headings[2], ".4f"), *whole)
    return Table(caption, headings, tuple(rows), name="convergence", formats=formats)


def notice_block(
    result: xr.DataTree | xr.Dataset | xr.DataArray, heading: str = "Notices"
) -> tuple[Alerts, ...]:
    """Notices of a fit, a count table or decisions, with what to do and the source, if any."""
    items = tuple((n.severity, in_words(n), n.cells) for n in notices(result))
    return (Alerts(heading, items),) if items else ()


def early_notices(
    result: xr.DataTree | xr.Dataset | xr.DataArray, more: Sequence[Notice] = ()
) -> tuple[Alerts, ...]:
    """Notices that a reader needs before the answer."""
    said = [one for one in (*notices(result), *more) if one.code in BEFORE_THE_ANSWER]
    said = [one for one in said if one.severity != "info"]
    return notice_block(with_notices(xr.Dataset(), said), "Before the answer")


def in_words(notice: Notice) -> str:
    """Message of a notice, next step for Python and the command line, and source, as one text."""
    # A sentence that both steps begin with is for both.
    first, _, rest = notice.shell_step.partition(". ")
    own = rest if notice.next_step.startswith(f"{first}. ") else notice.shell_step
    shell = f"Command line: {own}" if own else ""
    source = f"({notice.source})" if notice.source else ""
    return " ".join(filter(None, [notice.message, notice.next_step, shell, source]))


def method_blocks(fit: xr.DataTree, spec: ModelSpec, command: str, text: str = "") -> list[Block]:
    """Model, priors, convergence, a paragraph to cite from, and how to run it again."""
    versions = ", ".join(f"{k} {v}" for k, v in read_attr(fit.attrs, "versions").items())
    session = [f"Versions: {versions}."]
    if command:
        session.append(f"To run it again: {command}")
    return [
        Prose("Method", tuple(filter(None, (text or method_text(fit, spec), spec.record.limits)))),
        model_table(spec, empty_names(fit)),
        prior_table(spec, empty_names(fit)),
        convergence_table({fit.attrs["model"]: fit}),
        Prose("Session", tuple(session)),
    ]


def session_block(command: str) -> tuple[Prose, ...]:
    """How to run it again, if the command is known."""
    return (Prose("Session", (f"To run it again: {command}",)),) if command else ()


def method_text(fit: xr.DataTree, spec: ModelSpec) -> str:
    """How the counts were modelled and the posterior was sampled."""
    posterior, stats = fit["posterior"], fit["sample_stats"].to_dataset()
    # Fits of older versions do not say how they were sampled: by chains.
    sampling = SAMPLING[fit.attrs.get("method", "nuts")]
    number = int(stats["by_chains"].sum()) if "by_chains" in stats else 0
    return METHOD.format(
        sampling=sampling.format(
            **{k: fit.attrs[k] for k in ("sampler", "seed")},
            chains=posterior.sizes["chain"],
            again=f"; {number} with uneven weights by chains" if number else "",
        ),
        card=card_words(fit, spec),
        method=method_of(spec),
        formulas=formulas_text(spec, empty_names(fit)),
        draws=f"{posterior.sizes['chain'] * posterior.sizes['draw']:,}",
    )


def card_words(fit: xr.DataTree, spec: ModelSpec) -> str:
    """Model card, with the version that sampled it."""
    version = read_attr(fit.attrs, "versions").get("hmetad", "")
    title = f" ({spec.title})" if spec.title else ""
    return f"the card {spec.name!r}{title} of hmetad {version}".rstrip()


def empty_names(fit: xr.DataTree) -> set[str]:
    """Parameters that the data lack, and their variables: gaps of criteria without ratings."""
    empty = {str(k): x for k, x in fit["posterior"].data_vars.items() if not x.size}
    owners = (identity_of(x.attrs) for x in empty.values())
    return {*empty, *(one.parameter for one in owners if one is not None)}


def formulas_text(spec: ModelSpec, empty: Collection[str]) -> str:
    """Formulas of the parameters in a sentence, each formula once; empty where there are none."""
    by_formula: dict[str, list[str]] = {}
    for name, text in spec.formula.items():
        if name not in empty:
            by_formula.setdefault(text, []).append(symbol(name))
    told = [f"{', '.join(names)} ~ {text}" for text, names in by_formula.items()]
    return f" Formulas: {'; '.join(told)}." if told else ""


def method_of(spec: ModelSpec) -> str:
    """How counts are modelled, with what was chosen; other braces may be those of LaTeX."""
    said = spec.record.method
    for name, value in spec.choices.items():
        said = said.replace(f"{{{name}}}", value)
    return said


def model_table(spec: ModelSpec, empty: Collection[str]) -> Table:
    """Choices of the model card, and its formulas."""
    rows = [("Likelihood", spec.likelihood)]
    rows += [(choice.description, spec.choices[choice.name]) for choice in spec.record.choices]
    means = {one.name: f" ({one.description})" for one in spec.record.parameters}
    rows += [
        (f"Formula of {symbol(name)}{means.get(name, '') if symbol(name) == name else ''}", text)
        for name, text in spec.formula.items()
        if name not in empty
    ]
    rows += [("Reference", spec.reference)] if spec.reference else []
    caption = f"Model card {spec.name}."
    return Table(caption, ("Choice", "Value"), tuple(rows), name="model")


def prior_table(spec: ModelSpec, empty: Collection[str]) -> Table:
    """Prior of each variable."""
    rows = []
    for name, prior in spec.priors.items():
        if name in empty:
            continue
        inside = ", ".join(f"{k} {format_cell(v, '.4g')}" for k, v in prior.parameters.items())
        rows.append((name, f"{prior.dist}({inside})"))
    return Table("Priors.", ("Variable", "Prior"), tuple(rows), name="priors")
