"""Decisions in a report: the rule, then each verdict.

Decisions, with the fits they are on → blocks.
"""

from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from hmetad.compare.decisions import Decisions
from hmetad.compare.words import pool_words
from hmetad.errors import InputError
from hmetad.report.contents.pairwise import Stratum, counts_table, is_many, pair_matrix, pair_strata
from hmetad.report.contents.rankings import ranking_table, ranking_tables, ranks_of
from hmetad.report.contents.tables import decision_figure, decision_table, rope_in_words
from hmetad.report.page.blocks import Block, Prose, table_from_frame
from hmetad.text.cells import format_cell
from hmetad.text.names import judged_name, symbol

__all__ = ["changed_verdicts", "decision_blocks", "question_of"]

type Fits = xr.DataTree | Mapping[str, xr.DataTree]

# Contrasts whose estimates are shown under every choice.
MOST_ESTIMATES = 20
RULE = (
    "Two questions are answered for each contrast. Statistical: does its interval exclude {null}? "
    "Practical: where does the interval lie against the region of practical equivalence (ROPE), "
    "{rope}? Outside: different. Inside: negligible. Otherwise: inconclusive. A verdict is "
    "withheld (unreliable) where draws cannot be relied on, or their Monte Carlo error could turn "
    "it."
)


def decision_blocks(
    decisions: Decisions,
    fits: Fits | None = None,
    remark: str = "",
    ranks: xr.Dataset | None = None,
) -> list[Block]:
    """Rule, with a remark after it, then a table and figure, or of many pairs matrices.

    Ranks that are given follow; of many pairs each stratum has its own, those that are given or
    else those of the fits whose cells were compared.
    """
    quantity, name = symbol(decisions.quantity), f"decisions-{decisions.quantity}"
    told = (rule(decisions), pooling_of(decisions), remark)
    opening = Prose(f"Decisions: {quantity}", tuple(filter(None, told)))
    caption = judged_name(decisions.quantity, is_contrast="kind" in decisions.results.attrs)
    many = is_many(decisions)
    strata = pair_strata(decisions) if many else []
    if strata:
        if ranks is None and fits is not None:
            ranks = ranks_of(fits, decisions)
        return [opening, *decided_by_stratum(decisions, strata, ranks, caption, name)]
    table = decision_table(decisions, f"{caption}.", name=name)
    shown = f"{caption}, against the ROPE (band)."
    figure = [] if many else [decision_figure(decisions, shown, name=name)]
    ranked = [] if ranks is None else ranking_tables(ranks, name=name)
    return [opening, table, *figure, *ranked]


def question_of(decisions: Decisions) -> str:
    """Question that decisions answer."""
    quantity = symbol(decisions.quantity)
    if "kind" not in decisions.results.attrs:
        return f"Is {quantity} more than negligibly other than {decisions.null:g}?"
    return f"Which differences in {quantity} are more than negligible?"


def decided_by_stratum(
    decisions: Decisions,
    strata: Sequence[Stratum],
    ranks: xr.Dataset | None,
    caption: str,
    name: str,
) -> list[Block]:
    """Verdicts counted, then ranks and a matrix for each stratum."""
    counted = f"{caption}: pairs by verdict."
    blocks: list[Block] = [counts_table(strata, counted, name=f"{name}-counted")]
    for place, stratum in enumerate(strata, start=1):
        where, stem = f", {stratum.name}" if stratum.name else "", f"{name}-{place}"
        if stratum.name:
            blocks.append(Prose(f"Decisions: {symbol(decisions.quantity)}{where}", ()))
        if ranks is not None:
            blocks.append(ranking_table(ranks, stratum.held, name=f"{stem}-ranks"))
        blocks.append(pair_matrix(decisions, stratum, f"{caption}{where}.", name=stem))
    return blocks


def rule(decisions: Decisions) -> str:
    """Rule of the verdicts, with the numbers used."""
    return RULE.format(null=format_cell(decisions.null, "g"), rope=rope_in_words(decisions))


def pooling_of(decisions: Decisions) -> str:
    """Sentence on what contrasts are pooled over, where they are."""
    words = pool_words(decisions.results.attrs)
    if not words:
        return ""
    compared = "Both sides of a contrast are over the same levels."
    return f"Contrasts are {words}. {compared}"


def changed_verdicts(made: list[Decisions], others: Mapping[str, Decisions]) -> list[Block]:
    """Which of the first verdicts change under another choice, and which it withholds or gives."""
    if not others:
        return []
    if not made:
        raise InputError("sensitivity", "no decisions to compare with", "decisions")
    base = made[0].table()[["label", "verdict"]].rename(columns={"verdict": "as decided"})
    frame = base
    for name, decisions in others.items():
        table = decisions.table()[["label", "verdict"]]
        if table["label"].tolist() != base["label"].tolist():
            raise InputError("sensitivity", f"other contrasts in {name!r}", "those of decisions")
        frame = frame.assign(**{name: table["verdict"].to_numpy()})
    shown = frame[frame[list(others)].ne(frame["as decided"], axis=0).any(axis=1)]
    blocks: list[Block] = [
        Prose("Sensitivity", (counted_changes(frame, list(others)),)),
        *estimates_by_choice({"as decided": made[0], **others}),
    ]
    if len(shown):
        columns = {"label": "Contrast"} | {name: name for name in shown.columns[1:]}
        caption = "Verdicts that another choice changes, withholds or gives."
        blocks.append(table_from_frame(shown, caption, columns=columns, name="sensitivity"))
    return blocks


def counted_changes(frame: pd.DataFrame, others: list[str]) -> str:
    """How many verdicts change under each choice; one that is withheld contradicts none."""
    first = frame["as decided"].to_numpy()
    found = {name: frame[name].to_numpy() for name in others}
    flags = {
        f"Verdicts that change, of {len(frame)}": {
            name: (again != first) & (again != "unreliable") & (first != "unreliable")
            for name, again in found.items()
        },
        "Withheld under another choice, with nothing contrary found": {
            name: (again != first) & (again == "unreliable") for name, again in found.items()
        },
        "Given under another choice alone": {
            name: (again != first) & (first == "unreliable") for name, again in found.items()
        },
    }
    return " ".join(
        f"{words}: {'; '.join(f'{name}: {int(flag.sum())}' for name, flag in each.items())}."
        for place, (words, each) in enumerate(flags.items())
        if place == 0 or any(flag.any() for flag in each.values())
    )


def estimates_by_choice(choices: Mapping[str, Decisions]) -> list[Block]:
    """Mean and interval of each contrast under every choice, where they can be read."""
    tables = {name: one.table() for name, one in choices.items()}
    first = next(iter(tables.values()))
    if len(first) > MOST_ESTIMATES:
        return []
    columns = {
        name: [
            f"{format_cell(row.mean, '.2f')} [{format_cell(row.lower, '.2f')}, "
            f"{format_cell(row.upper, '.2f')}]"
            for row in table.itertuples()
        ]
        for name, table in tables.items()
    }
    frame = first[["label"]].assign(**columns)
    caption = f"Estimates of {symbol(next(iter(choices.values())).quantity)} under each choice."
    headings = {"label": "Contrast"} | {name: name for name in columns}
    return [table_from_frame(frame, caption, columns=headings, name="sensitivity-estimates")]
