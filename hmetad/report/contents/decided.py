"""Decisions in a report: the rule, each verdict, and other choices.

Decisions, with the fits they are on → blocks; those that rest on no fit → Report.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import EmptyError, ShapeError, SourceError
from hmetad.base.results import best_end
from hmetad.compare.averaging import counted_trials
from hmetad.compare.decisions import Decisions
from hmetad.compare.words import COLUMNS, pool_words
from hmetad.counts.checks import dims_text
from hmetad.report.contents.leaderboard import ranking_table
from hmetad.report.contents.tables import (
    codes_in_words,
    decision_figure,
    decision_table,
    early_notices,
    notice_block,
    reasons_withheld,
    rope_in_words,
    with_words,
)
from hmetad.report.page.blocks import Block, Cell, Prose, Table, interval_cell, table_from_frame
from hmetad.report.page.layout import VERDICTS
from hmetad.report.page.report import Report
from hmetad.text.cells import format_cell
from hmetad.text.names import heading, in_percent, judged_name, symbol

type Fits = xr.DataTree | Mapping[str, xr.DataTree]

# Contrasts whose estimates are shown under every choice.
MOST_ESTIMATES = 20
# Contrasts that are said in sentences.
MOST_SAID = 6
# Contrasts beyond which they are counted, and not drawn.
MOST_CONTRASTS = 40
RULE = (
    "Two questions are answered for each contrast. Statistical: does its interval exclude {null}? "
    "Practical: where does the interval lie against the region of practical equivalence (ROPE), "
    "{rope}? Outside: different. Inside: negligible. Otherwise: inconclusive. A verdict is "
    "withheld (unreliable) where the draws cannot be trusted, or their Monte Carlo error could "
    "change it."
)
NONE_CHANGES = "None of the {} verdicts changes"
KAPPA = (
    "κ is the criterion of the response as confidence has it: M·c where it moves with M, c where "
    "it stays that of the response."
)
SAME_LEVELS = "Both sides of a contrast are over the same levels."
RISES = (
    "AUROC2 rises with d′ and so, mostly, with accuracy: a higher one need not mean that a model "
    "knows better when it is right. Read the accuracies beside it."
)


@check_inputs()
def decisions_report(
    decisions: Decisions,
    draws: xr.DataTree | xr.Dataset | Mapping[str, xr.DataTree] | None = None,
    *,
    title: str = "",
    question: str = "",
    method: str = "",
    command: str = "",
    labels: Mapping[str, str] | None = None,
    ranks: xr.Dataset | None = None,
) -> Report:
    """Report of decisions alone: question, verdicts, notices and method.

    Parameters
    ----------
    decisions : Decisions
        What `decide` returned for draws of `resample` or `measures.resample_trials`, or
        `decide_normal` for estimates. Of fits, `fit_report` says more.
    draws : DataTree or Dataset, or mapping of str to DataTree, optional
        What was contrasted, of several sources by name: its levels are shown with the answer.
    title, question : str, optional
        Of the page; by default of the decisions.
    method : str, optional
        How the draws or estimates were made, a paragraph.
    command : str, optional
        Command line that makes it again.
    labels : mapping of str to str, optional
        Words for levels, in the labels of decisions.
    ranks : Dataset, optional
        What `hmetad.rank` returned for the same levels, shown with the decisions.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If `draws` has no dim draw.

    Examples
    --------
    >>> from hmetad.compare.verdicts import decide_normal
    >>> page = decisions_report(decide_normal([0.4], [0.05], rope=(-0.1, 0.1)), method="By hand.")
    >>> [block.heading for block in page.blocks if isinstance(block, Prose) and block.heading]
    ['Question', 'Decisions: estimate', 'Method']
    """
    told = with_words(decisions, labels)
    if isinstance(draws, xr.Dataset):
        if "draw" not in draws.dims:
            raise ShapeError("draws", dims_text(draws), "draws, with dim draw")
        draws = xr.DataTree.from_dict({"/posterior": draws})
    blocks: list[Block] = [
        Prose("Question", (question or question_of(decisions),)),
        *early_notices(decisions.results),
        *answer_blocks(told, draws),
        *decision_blocks(told, ranks=ranks),
        *notice_block(decisions.results),
        *([Prose("Method", (method,))] if method else []),
        *([Prose("Session", (f"To run it again: {command}",))] if command else []),
    ]
    heading = title or f"Comparison of {symbol(decisions.quantity)}"
    return Report(heading, tuple(blocks), meta=(("hmetad", version("hmetad")),))


def decision_blocks(
    decisions: Decisions, remark: str = "", ranks: xr.Dataset | None = None
) -> list[Block]:
    """A remark, the rule, a table of contrasts, and of a few a figure; ranks that are given.

    Many contrasts are counted by verdict, and their table is folded away after ranks.
    """
    quantity, name = symbol(decisions.quantity), f"decisions-{decisions.quantity}"
    rule = RULE.format(null=format_cell(decisions.null, "g"), rope=rope_in_words(decisions))
    pooled = pool_words(decisions.results.attrs)
    pooling = f"Contrasts are {pooled}. {SAME_LEVELS}" if pooled else ""
    remarks = tuple(filter(None, (pooling, remark)))
    caption = judged_name(decisions.quantity, is_contrast="kind" in decisions.results.attrs)
    penalty = decisions.results.attrs.get("penalty")
    caption += "" if penalty is None else f" at a penalty of {penalty:g}"
    table = decision_table(decisions, f"{caption}.", name=name)
    ranked = [] if ranks is None else [ranking_table(ranks, name=f"{name}-ranks")]
    if decisions.results["verdict"].size > MOST_CONTRASTS:
        verdicts = decisions.results["verdict"].to_numpy().tolist()
        counted = [f"{verdicts.count(word)} {word}" for word in VERDICTS if word in verdicts]
        counts = f"Of {len(verdicts)} contrasts, the verdicts are: {', '.join(counted)}."
        said = (*remarks, rule, counts)
        folded = replace(table, is_folded=bool(ranked))
        return [Prose(f"Decisions: {quantity}", said), *ranked, folded]
    shown = f"{caption}, against the ROPE (band)."
    figure = decision_figure(decisions, shown, name=name)
    return [Prose(f"Decisions: {quantity}", remarks), table, figure, Prose("", (rule,)), *ranked]


def held_equal(decisions: Decisions) -> list[str]:
    """Coordinates that both sides of a contrast agree in: all that say nothing of a contrast."""
    results = decisions.results
    dim = next(iter(results.dims))
    others = {dim, "left", "right", *(column.name for column in COLUMNS)}
    return [str(k) for k, v in results.coords.items() if v.dims == (dim,) and k not in others]


def answer_blocks(decisions: Decisions, draws: Fits | None) -> list[Block]:
    """What a few contrasts of levels say in sentences, and the levels themselves."""
    table = decisions.table()
    is_difference = decisions.results.attrs.get("kind") == "difference"
    if not is_difference or len(table) > MOST_SAID or not {"left", "right"} <= {*table}:
        return []
    quantity, best = symbol(decisions.quantity), best_end(decisions.quantity)
    said = [
        contrast_in_words(row, held_equal(decisions), quantity) for row in table.to_dict("records")
    ]
    said += [f"Of {quantity}, {best} is better."] if best else []
    said += [RISES] if decisions.quantity == "auroc2" else []
    return [Prose("Answer", tuple(said)), *compared_levels(decisions, draws)]


def contrast_in_words(row: Mapping[Hashable, Any], held: Sequence[str], quantity: str) -> str:
    """One contrast of two levels as a sentence, the larger level first."""
    where = ", ".join(str(row[name]) for name in held)
    where = f"{where}: " if where else ""
    first, second = (row["left"], row["right"])[:: 1 if row["mean"] >= 0 else -1]
    if row["verdict"] == "unreliable":
        return f"{where}no verdict on {first} and {second}: {codes_in_words(row['withheld'])}."
    ends = [row["mean"], row["lower"], row["upper"]]
    found = interval_cell(ends if row["mean"] >= 0 else [-ends[0], -ends[2], -ends[1]]).text
    if row["verdict"] == "negligible":
        return f"{where}{first} and {second} differ in {quantity} by a negligible amount: {found}."
    if row["verdict"] == "inconclusive":
        return f"{where}whether {first} and {second} differ in {quantity} is open: by {found}."
    return f"{where}{first} has the higher {quantity} than {second}: by {found}."


def compared_levels(decisions: Decisions, draws: Fits | None) -> list[Block]:
    """Each level with its answers, its accuracy and its value, where a cell is a level."""
    if not isinstance(draws, xr.DataTree) or "posterior" not in draws.children:
        return []
    over, held = str(decisions.results.attrs["over"]), held_equal(decisions)
    drawn = draws["posterior"].to_dataset()
    columns = [name for name in drawn.coords if drawn[name].dims == ("cell",) and name != "cell"]
    if decisions.quantity not in drawn or {*columns} != {over, *held}:
        return []
    names = [*(x for x in ("accuracy", "share_right") if x in drawn), decisions.quantity]
    tail = (1 - decisions.ci_prob) / 2
    values = {
        name: drawn[name].transpose("cell", ...).to_numpy().reshape(drawn.sizes["cell"], -1)
        for name in dict.fromkeys(names)
    }
    trials = counted_trials(draws)
    rows: list[tuple[Cell, ...]] = []
    for place in range(drawn.sizes["cell"]):
        known = [x[place][np.isfinite(x[place])] for x in values.values()]
        numbers = [
            interval_cell([x.mean(), *np.quantile(x, [tail, 1 - tail])]) if len(x) else ""
            for x in known
        ]
        of_cell = [str(drawn[name].values[place]) for name in (over, *held)]
        answers = [] if trials is None else [int(trials.values[place])]
        rows.append((*of_cell, *answers, *numbers))
    titles = [over.capitalize(), *held, *([] if trials is None else ["Answers"])]
    note = f"Means of the draws, with {in_percent(decisions.ci_prob)} intervals."
    title = f"What is compared: each {over} by itself."
    return [
        Table(
            title,
            (*titles, *(heading(x, "measure_trials") for x in values)),
            tuple(rows),
            note,
            "levels",
        )
    ]


def question_of(decisions: Decisions) -> str:
    """Question that decisions answer."""
    quantity = symbol(decisions.quantity)
    if "kind" not in decisions.results.attrs:
        return f"Does {quantity} differ from {decisions.null:g} by more than a negligible amount?"
    return f"Which differences in {quantity} are more than negligible?"


def changed_verdicts(made: list[Decisions], others: Mapping[str, Decisions]) -> list[Block]:
    """Which of the first verdicts change under another choice, and which it withholds or gives."""
    if not others:
        return []
    if not made:
        raise EmptyError("sensitivity", "no decisions to compare with", "decisions")
    base = made[0].table()[["label", "verdict"]].rename(columns={"verdict": "as decided"})
    frame = base
    for name, decisions in others.items():
        table = decisions.table()[["label", "verdict"]]
        if table["label"].tolist() != base["label"].tolist():
            raise SourceError("sensitivity", f"other contrasts in {name!r}", "those of decisions")
        frame = frame.assign(**{name: table["verdict"].to_numpy()})
    kappa = (KAPPA,) if any("κ" in name for name in others) else ()
    shown = frame[frame[list(others)].ne(frame["as decided"], axis=0).any(axis=1)]
    blocks: list[Block] = [
        Prose("Sensitivity", (counted_changes(frame, list(others)), *kappa)),
        *estimates_by_choice({"as decided": made[0], **others}),
    ]
    if len(shown):
        for name, one in {"as decided": made[0], **others}.items():
            why = reasons_withheld(one)
            words = [f"{shown[name][i]}: {why[i]}".removesuffix(": ") for i in shown.index]
            shown = shown.assign(**{name: words})
        columns = {"label": "Contrast"} | {name: name for name in shown.columns[1:]}
        caption = "Verdicts that another choice changes, withholds or gives."
        blocks.append(table_from_frame(shown, caption, columns=columns, name="sensitivity"))
    return blocks


def counted_changes(frame: pd.DataFrame, others: list[str]) -> str:
    """How many verdicts change under each choice; one that is withheld contradicts none."""
    first = frame["as decided"].to_numpy()
    was_given = first != "unreliable"
    counts: dict[str, dict[str, int]] = {}
    for name in others:
        again = frame[name].to_numpy()
        is_other, is_given = again != first, again != "unreliable"
        flags = {
            f"Verdicts that change, of {len(frame)}": is_other & is_given & was_given,
            "Withheld under another choice, with nothing contrary found": is_other & ~is_given,
            "Given under another choice alone": is_other & ~was_given,
        }
        for words, flag in flags.items():
            counts.setdefault(words, {})[name] = int(flag.sum())
    told = [
        f"{words}: {'; '.join(f'{name}: {number}' for name, number in each.items())}."
        for words, each in counts.items()
        if any(each.values())
    ]
    given = int(was_given.sum())
    if given and not any(next(iter(counts.values())).values()):
        verdicts = "The verdict does not change" if given == 1 else NONE_CHANGES
        choices = f"any of the {len(others)} alternative choices: {', '.join(others)}"
        under = choices if len(others) > 1 else f"the alternative choice, {others[0]}"
        told = [f"{verdicts.format(given)} under {under}.", *told]
    return " ".join(told)


def estimates_by_choice(choices: Mapping[str, Decisions]) -> list[Block]:
    """Mean and interval of each contrast under every choice, where they can be read."""
    tables = {name: one.table() for name, one in choices.items()}
    first = next(iter(tables.values()))
    if len(first) > MOST_ESTIMATES:
        return []
    columns = [
        [interval_cell(row, ".2f") for row in table[["mean", "lower", "upper"]].to_numpy()]
        for table in tables.values()
    ]
    caption = f"Estimates of {symbol(next(iter(choices.values())).quantity)} under each choice."
    rows = tuple(zip(first["label"], *columns, strict=True))
    return [Table(caption, ("Contrast", *tables), rows, name="sensitivity-estimates")]
