"""Decisions in a report: the rule, each verdict, and other choices.

Decisions, with the fits they are on → blocks; those that rest on no fit → Report.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import EmptyError, ShapeError, SourceError
from hmetad.base.results import best_end
from hmetad.compare.averaging import counted_trials
from hmetad.compare.decisions import Decisions
from hmetad.compare.words import pool_words
from hmetad.counts.checks import dims_text
from hmetad.report.contents.answer import answer_sentence, held_equal, verdict_sentence
from hmetad.report.contents.estimates import summary_table
from hmetad.report.contents.leaderboard import ranking_table
from hmetad.report.contents.tables import (
    decision_figure,
    decision_table,
    early_notices,
    notice_block,
    reasons_withheld,
    rope_in_words,
    session_block,
    with_words,
)
from hmetad.report.page.blocks import (
    Block,
    Numbers,
    Prose,
    interval_cell,
    interval_column,
    table_from_frame,
)
from hmetad.report.page.report import Report
from hmetad.text.names import heading, in_percent, judged_name, symbol

type Fits = xr.DataTree | Mapping[str, xr.DataTree]

# Contrasts whose estimates are shown under every choice.
MOST_ESTIMATES = 20
# Contrasts that are said in sentences.
MOST_SAID = 6
# Contrasts beyond which they are counted, and not drawn.
MOST_CONTRASTS = 40
RULE = (
    "Different: the interval lies outside the region of practical equivalence (ROPE), {rope}. "
    "Negligible: inside. Otherwise inconclusive. A verdict is withheld (unreliable) if the draws "
    "cannot be trusted, or their Monte Carlo error could change it."
)
NONE_CHANGES = "None of the {} verdicts changes"
KAPPA = "κ is the criterion of the response for confidence: M·c if it moves with M, else c."
SAME_LEVELS = "Both sides of a contrast are over the same levels."
RISES = "AUROC2 increases with d′, hence with accuracy: compare it next to the accuracies."


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
    """Report of decisions alone: answer, verdicts, notices and method.

    Parameters
    ----------
    decisions : Decisions
        What `decide` returned for draws of `resample` or `measures.resample_trials`, or
        `decide_normal` for estimates. For fits, `fit_report` has more.
    draws : DataTree or Dataset, or mapping of str to DataTree, optional
        The compared draws, for several sources by name: the answer shows their levels.
    title, question : str, optional
        Of the page; by default of the decisions.
    method : str, optional
        A paragraph on the origin of the draws or estimates.
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
    ['Answer', 'Decisions: estimate', 'Method']
    """
    told = with_words(decisions, labels)
    if isinstance(draws, xr.Dataset):
        if "draw" not in draws.dims:
            raise ShapeError("draws", dims_text(draws), "draws, with dim draw")
        draws = xr.DataTree.from_dict({"/posterior": draws})
    blocks: list[Block] = [
        *early_notices(decisions.results),
        *answer_blocks(told, draws),
        *decision_blocks(told, ranks=ranks),
        *notice_block(decisions.results),
        *([Prose("Method", (method,))] if method else []),
        *session_block(command),
    ]
    heading = title or f"Comparison of {symbol(decisions.quantity)}"
    asked = question or question_of(decisions)
    return Report(heading, tuple(blocks), asked, meta=(("hmetad", version("hmetad")),))


def decision_blocks(
    decisions: Decisions, remark: str = "", ranks: xr.Dataset | None = None
) -> list[Block]:
    """A remark, the rule, a table of contrasts, and of a few a figure; ranks that are given.

    The table of many contrasts is folded away after ranks.
    """
    quantity, name = symbol(decisions.quantity), f"decisions-{decisions.quantity}"
    rule = RULE.format(rope=rope_in_words(decisions))
    pooled = pool_words(decisions.results.attrs)
    pooling = f"Contrasts are {pooled}. {SAME_LEVELS}" if pooled else ""
    remarks = tuple(filter(None, (pooling, remark)))
    caption = judged_name(decisions.quantity, is_contrast="kind" in decisions.results.attrs)
    penalty = decisions.results.attrs.get("penalty")
    caption += "" if penalty is None else f" at a penalty of {penalty:g}"
    table = decision_table(decisions, f"{caption}.", name=name)
    ranked = [] if ranks is None else [ranking_table(ranks, name=f"{name}-ranks")]
    if decisions.results["verdict"].size > MOST_CONTRASTS:
        folded = replace(table, is_folded=bool(ranked))
        return [Prose(f"Decisions: {quantity}", (*remarks, rule)), *ranked, folded]
    shown = f"{caption}, against the ROPE (band)."
    figure = decision_figure(decisions, shown, name=name)
    return [Prose(f"Decisions: {quantity}", remarks), table, figure, Prose("", (rule,)), *ranked]


def answer_blocks(decisions: Decisions, draws: Fits | None) -> list[Block]:
    """What contrasts say in sentences, and the levels that a few of them compare."""
    table = decisions.table()
    is_difference = decisions.results.attrs.get("kind") == "difference"
    if not is_difference or len(table) > MOST_SAID or not {"left", "right"} <= {*table}:
        return [Prose("Answer", (answer_sentence(decisions),))]
    quantity, best = symbol(decisions.quantity), best_end(decisions.quantity)
    reasons = reasons_withheld(decisions)
    said = [
        verdict_sentence(row, why, decisions)
        for row, why in zip(table.to_dict("records"), reasons, strict=True)
    ]
    said += [f"Of {quantity}, {best} is better."] if best else []
    said += [RISES] if decisions.quantity == "auroc2" else []
    return [Prose("Answer", tuple(said)), *compared_levels(decisions, draws)]


def compared_levels(decisions: Decisions, draws: Fits | None) -> list[Block]:
    """Each level with its answers, its accuracy and its value, where a cell is a level."""
    if not isinstance(draws, xr.DataTree) or "posterior" not in draws.children:
        return []
    over, held = str(decisions.results.attrs["over"]), held_equal(decisions)
    drawn = draws["posterior"].to_dataset()
    drawn = drawn if "chain" in drawn.dims else drawn.expand_dims("chain")
    columns = [name for name in drawn.coords if drawn[name].dims == ("cell",) and name != "cell"]
    if decisions.quantity not in drawn or {*columns} != {over, *held}:
        return []
    names = dict.fromkeys(
        [*(x for x in ("accuracy", "share_right") if x in drawn), decisions.quantity]
    )
    frame, trials = summary_table(drawn[[*names]], decisions.ci_prob), counted_trials(draws)
    places = {name: frame[name].astype(str) for name in (over, *held)}
    answers = {} if trials is None else {"Answers": trials.to_numpy().astype(int)}
    numbers = {heading(x, "measure_trials"): interval_column(frame, x, "z.3f") for x in names}
    shown = pd.DataFrame({**places, **answers, **numbers})
    note = f"Means of the draws, with {in_percent(decisions.ci_prob)} intervals."
    title = f"What is compared: each {over} by itself."
    titles = {str(name): str(name) for name in shown} | {over: over.capitalize()}
    return [table_from_frame(shown, title, columns=titles, note=note, name="levels")]


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
    is_other = frame[list(others)].ne(frame["as decided"], axis=0).any(axis=1).to_numpy()
    shown = is_other if len(frame) > MOST_ESTIMATES else np.ones(len(frame), dtype=bool)
    columns = {
        name: np.array(verdict_cells(one), dtype=object)[shown]
        for name, one in {"as decided": made[0], **others}.items()
    }
    table = pd.DataFrame({"Contrast": frame["label"].to_numpy()[shown], **columns})
    caption = "Estimates and verdicts under each choice"
    caption += "." if shown.all() else ", of the contrasts whose verdict changes."
    prose = Prose("Sensitivity", (counted_changes(frame, list(others)), *kappa))
    return [prose, table_from_frame(table, caption, name="sensitivity")] if shown.any() else [prose]


def verdict_cells(decisions: Decisions) -> list[Numbers]:
    """Mean, interval and verdict of each contrast, with the reason if there is none."""
    cells = []
    for row, why in zip(
        decisions.table().to_dict("records"), reasons_withheld(decisions), strict=True
    ):
        cell = interval_cell((row[x] for x in ("mean", "lower", "upper")), ".2f")
        words = f"{row['verdict']}: {why}" if why else row["verdict"]
        cells.append(replace(cell, text=f"{cell.text}; {words}"))
    return cells


def counted_changes(frame: pd.DataFrame, others: list[str]) -> str:
    """How many verdicts change under each choice; one that is withheld contradicts none."""
    again, was_given = frame[others], frame["as decided"].ne("unreliable").to_numpy()[:, None]
    is_other, is_given = again.ne(frame["as decided"], axis=0), again.ne(np.array("unreliable"))
    changes = is_other & is_given & was_given
    flags = {
        f"Verdicts that change, of {len(frame)}": changes,
        "Withheld under another choice, with nothing contrary found": is_other & ~is_given,
        "Given under another choice alone": is_other & ~was_given,
    }
    told = [
        f"{words}: {'; '.join(f'{name}: {number}' for name, number in flag.sum().items())}."
        for words, flag in flags.items()
        if flag.to_numpy().any()
    ]
    given = int(was_given.sum())
    if given and not changes.to_numpy().any():
        verdicts = "The verdict does not change" if given == 1 else NONE_CHANGES
        choices = f"any of the {len(others)} alternative choices: {', '.join(others)}"
        under = choices if len(others) > 1 else f"the alternative choice, {others[0]}"
        told = [f"{verdicts.format(given)} under {under}.", *told]
    return " ".join(told)
