"""The report of judges: how well each tells good outputs from bad, how strict it is, pass rates.

Table of judged outputs, with estimates, pass rates and decisions that were made of it → Report.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import norm

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import InputError
from hmetad.base.notice import Notice, notices, with_notices
from hmetad.compare.decisions import Decisions
from hmetad.counts.resample import cell_columns, counts_together
from hmetad.mle.judged import judge
from hmetad.plots.curves import MOST_CELLS, type1_roc
from hmetad.report.contents.answer import held_equal
from hmetad.report.contents.decided import decision_blocks
from hmetad.report.contents.tables import codes_in_words, notice_block, session_block
from hmetad.report.page.blocks import Block, Figure, Prose, Table, interval_cell
from hmetad.report.page.report import Report
from hmetad.simulate.plan_labels import labels_needed
from hmetad.text.names import in_percent

QUESTION = (
    "How well do verdicts tell good outputs from bad ones (d′), how strict are they (c: above 0, "
    "bad outputs that pass are rarer than good ones that fail), and how many outputs are good? "
    "Human labels say which outputs are good; errors of labels are not part of the intervals."
)
# Columns whose levels are judges, and not what is judged.
JUDGES = ("judge", "grader", "scorer", "rubric", "version", "prompt", "week", "month")
# Cells that are said in sentences, and the half-width of the pass rate that labels are planned for.
MOST_SAID, HALF_WIDTH = 6, 0.03
OF_VERDICT = {"r2_verdict": "R² of the verdict", "kappa": "κ", "rogan_gladen": "Rogan–Gladen"}
OF_SCORE = {"r2_ratings": "R² of the ratings", "r2_gain": "gain", "auroc": "AUROC"}
OF_SCORE |= {"a_z": "A_z", "d_a": "d_a", "s": "s"}
CURVE_NOTE = (
    "R²: proportion of the variance of the labels that the verdict explains{ratings}. Labels: "
    "random labels for a pass rate to ± {half:g}, with these verdicts (–: too few outputs) and "
    "without. Rogan–Gladen: the usual corrected rate."
)
OF_RATINGS = (
    ", or verdict and score (the ratings); gain: their quotient. s: SD of the evidence of bad over "
    "good outputs"
)
# By the verdicts on d′ and on c.
ADVICE = {
    "negligible, negligible": "They can stand in for each other.",
    "negligible, different": "Only strictness differs: another threshold mends it.",
    "different, negligible": "Sharpness differs: no threshold mends it. Find what changed, and "
    "label anew.",
    "different, different": "Sharpness and strictness differ: a threshold mends the second alone.",
}


@check_inputs(skip=("judged",))
def judge_report(
    judged: xr.DataArray,
    *,
    estimates: xr.Dataset | None = None,
    rates: xr.DataArray | None = None,
    decisions: Mapping[str, Decisions] | None = None,
    ci_prob: float = 0.95,
    title: str = "Judges",
    command: str = "",
) -> Report:
    """Report of judges, with the answer first.

    Parameters
    ----------
    judged : DataArray
        What `count_judged` returned.
    estimates : Dataset, optional
        What `measures.judge` gave for it, by default without clusters.
    rates : DataArray, optional
        Draws of `pass_rate`.
    decisions : mapping of str to Decisions, optional
        What `decide` returned for the same contrasts of ``"dprime"``, ``"c"`` and ``"pass_rate"``.
    ci_prob : float, optional
        Probability of the intervals.
    title : str, optional
        Of the page.
    command : str, optional
        Command line that makes it again.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If `judged` has no pool counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.counts.judged import count_judged
    >>> verdicts = [1, 0, 1, 0, 1, 1, 0, 0, 1, 0] * 10
    >>> outputs = pd.DataFrame({"human": [1, 0] * 50, "verdict": verdicts})
    >>> page = judge_report(count_judged(outputs, by=(), label="human", verdict="verdict"))
    >>> [block.heading for block in page.blocks if isinstance(block, Prose)][:2]
    ['Question', 'Answer']
    """
    found = judge(judged) if estimates is None else estimates
    made = dict(decisions or {})
    said = [*pair_sentences(made), *cell_sentences(found, rates, ci_prob)]
    sources = [found, *([] if rates is None else [rates]), *(x.results for x in made.values())]
    cells: dict[Notice, dict[str, None]] = {}
    for one in (x for source in sources for x in notices(source)):
        cells.setdefault(replace(one, cells=()), {}).update(dict.fromkeys(one.cells))
    told = [replace(one, cells=tuple(own)) for one, own in cells.items()]
    blocks: list[Block] = [
        Prose("Question", (QUESTION,)),
        Prose("Answer", tuple(said)),
        rate_table(found, rates, ci_prob),
        *roc_figure(judged, found),
        *(block for one in made.values() for block in decision_blocks(one)),
        Prose("What the verdicts and scores explain", ()),
        curve_table(found, rates),
        *notice_block(with_notices(xr.Dataset(), told)),
        *session_block(command),
    ]
    meta = (
        ("Labelled outputs", f"{int(judged.sum()):,}"),
        ("Outputs without a label", f"{int(judged['pool'].sum()):,}"),
        ("hmetad", version("hmetad")),
    )
    return Report(title, tuple(blocks), meta=meta)


def interval_of(found: xr.Dataset, name: str, cell: int, ci_prob: float) -> list[float]:
    """Estimate of a cell, and the ends of its normal interval."""
    value, se = (float(found[x].to_numpy()[cell]) for x in (name, f"{name}_se"))
    reach = norm.ppf((1 + ci_prob) / 2) * se
    return [value, value - reach, value + reach]


def rate_intervals(rates: xr.DataArray, ci_prob: float) -> np.ndarray:
    """Median of the pass rate of each cell, and the ends of its interval, (cells, 3)."""
    flat = rates.transpose("cell", ...).to_numpy().reshape(rates.sizes["cell"], -1)
    levels = [0.5, (1 - ci_prob) / 2, (1 + ci_prob) / 2]
    return np.asarray(np.quantile(flat, levels, axis=1).T)


def cell_sentences(found: xr.Dataset, rates: xr.DataArray | None, ci_prob: float) -> list[str]:
    """A sentence for each of a few cells."""
    cells = found["cell"].to_numpy().tolist()
    if len(cells) > MOST_SAID:
        return [f"{len(cells)} cells are compared in the table below."]
    passed = None if rates is None else rate_intervals(rates, ci_prob)
    sentences = []
    for k, cell in enumerate(cells):
        H, F = (round(float(found[x].to_numpy()[k]), 2) for x in ("hit_rate", "false_alarm_rate"))
        d, c = (interval_cell(interval_of(found, x, k, ci_prob), "z.2f") for x in ("dprime", "c"))
        shares = f"{in_percent(H)} of good outputs pass, and {in_percent(F)} of bad ones"
        text = f"{cell}: {shares} (d′ {d}, c {c})."
        if np.isnan(H + F):
            text = f"{cell}: labels of a class are missing, so that d′ and c are undefined."
        if passed is not None:
            rate = interval_cell(passed[k], ".2f")
            alone = float(found["verdict_rate"].to_numpy()[k])
            text += f" Pass rate: {rate}; by the verdicts alone {alone:.2f}."
        sentences.append(text)
    return sentences


def pair_sentences(decisions: Mapping[str, Decisions]) -> list[str]:
    """What a few contrasts of d′, c and pass rates say of two judges, or of two systems."""
    tables = {name: one.table().to_dict("records") for name, one in decisions.items()}
    if not {"dprime", "c"} <= {*tables} or len(tables["dprime"]) > MOST_SAID:
        return []
    over = decisions["dprime"].results.attrs.get("over", "")
    word = "of" if over.casefold() in JUDGES else "on"
    held = held_equal(decisions["dprime"])
    sentences = []
    for k, row in enumerate(tables["dprime"]):
        equal = "".join(f"{row[name]}: " for name in held)
        sentences.append(equal + pair_in_words(row, tables["c"][k], word))
        if "pass_rate" in tables:
            rate = tables["pass_rate"][k]
            size = interval_cell([rate["mean"], rate["lower"], rate["upper"]], "+z.2f")
            pair = f"{rate['left']} minus the pass rate of {rate['right']}"
            sentences[-1] += f" Pass rate of {pair}: {size}, {rate['verdict']}."
    return sentences


def pair_in_words(d: Mapping[Any, Any], c: Mapping[Any, Any], word: str) -> str:
    """Contrasts of d′ and of c as one sentence, and what follows from both."""
    left, right = f"erdicts {word} {d['left']}", f"those {word} {d['right']}"
    better = "better" if d["mean"] > 0 else "less well"
    stricter = "stricter" if c["mean"] > 0 else "laxer"
    task = "tell good outputs from bad ones"
    perhaps = "perhaps by a negligible amount"
    sharp = {
        "negligible": f"V{left} {task} as well as {right}",
        "different": f"V{left} {task} {better} than {right}",
        "inconclusive": f"It is open whether v{left} {task} as well as {right}",
        "statistical": f"V{left} {task} {better} than {right}, {perhaps}",
    }
    strict = {
        "negligible": "they are as strict",
        "different": f"they are {stricter}",
        "inconclusive": "whether they are as strict is open",
        "statistical": f"they are {stricter}, {perhaps}",
    }
    for row, words, name in ((d, sharp, "d′"), (c, strict, "c")):
        why = codes_in_words(row["withheld"]) if row["withheld"] else "more draws would settle it"
        words["unreliable"] = f"no verdict on {name} of {d['left']} and {d['right']} ({why})"
        if row["statistical"]:
            words["inconclusive"] = words["statistical"]
    sizes = [
        f" ({name} {interval_cell([x['mean'], x['lower'], x['upper']], '+z.2f')})"
        if x["lower"] <= x["upper"]
        else ""
        for x, name in ((d, "difference in d′"), (c, "c"))
    ]
    text = f"{sharp[d['verdict']]}{sizes[0]}; {strict[c['verdict']]}{sizes[1]}."
    text = text[0].upper() + text[1:]
    pair = f"{d['verdict']}, {c['verdict']}"
    return f"{text} {ADVICE.get(pair, '')}".strip()


def rate_table(found: xr.Dataset, rates: xr.DataArray | None, ci_prob: float) -> Table:
    """Rates, d′ and c of every cell, with intervals."""
    passed = None if rates is None else rate_intervals(rates, ci_prob)
    single = {"verdict_rate": "by verdicts"}
    single |= {"hit_rate": "good that pass", "false_alarm_rate": "bad that pass"}
    both = {"dprime": "d′", "c": "c"}
    rows = []
    for k, cell in enumerate(found["cell"].to_numpy().tolist()):
        numbers = [int(found[name].to_numpy()[k]) for name in ("labelled", "pooled")]
        values = [] if passed is None else [interval_cell(passed[k])]
        values += [interval_cell([float(found[name].to_numpy()[k])]) for name in single]
        values += [interval_cell(interval_of(found, name, k, ci_prob), "z.2f") for name in both]
        rows.append((cell, *values, *numbers))
    rate = [] if passed is None else ["pass rate"]
    columns = ("cell", *rate, *single.values(), *both.values(), "labelled", "unlabelled")
    note = f"Intervals: {in_percent(ci_prob)}. Correction: {found.attrs['correction']}."
    return Table("Pass rates, and what the verdicts tell.", columns, tuple(rows), note, "judges")


def curve_table(found: xr.Dataset, rates: xr.DataArray | None) -> Table:
    """What verdict and ratings explain, the curve of the ratings, and labels that verdicts save."""
    # Without a score all of these follow from the verdict.
    has_score = bool(found["a_z"].notnull().any())
    shown = OF_VERDICT | (OF_SCORE if has_score else {})
    base = found["base_rate"] if rates is None else rates.mean(("chain", "draw"))
    rows = []
    for k, cell in enumerate(found["cell"].to_numpy().tolist()):
        values = [interval_cell([float(found[name].to_numpy()[k])]) for name in shown]
        pool = int(found["labelled"].to_numpy()[k] + found["pooled"].to_numpy()[k])
        r2 = float(found["r2_ratings"].to_numpy()[k])
        labels = [labels_at(float(base.to_numpy()[k]), x, y) for x, y in ((r2, pool), (0.0, None))]
        rows.append((cell, *values, *labels))
    columns = ("cell", *shown.values(), "labels", "labels without verdicts")
    return Table(
        "What verdicts and scores explain of the labels.",
        columns,
        tuple(rows),
        CURVE_NOTE.format(half=HALF_WIDTH, ratings=OF_RATINGS if has_score else ""),
        "explained",
    )


def labels_at(rate: float, r2: float, pool: int | None) -> int | None:
    """Labels for the half-width that is planned for, or None where no number suffices."""
    try:
        return round(labels_needed(HALF_WIDTH, pass_rate=rate, r2=r2, pool=pool))
    except InputError:
        return None


def roc_figure(judged: xr.DataArray, found: xr.Dataset) -> list[Block]:
    """ROC of every cell with its operating point, where cells are few enough to be told apart."""
    names = [name for name in cell_columns(judged) if name in found.coords]
    table = counts_together(judged, names)[0] if names else judged
    if table.sizes["cell"] > MOST_CELLS:
        return []
    ax = type1_roc(table)
    ax.plot(found["false_alarm_rate"], found["hit_rate"], "o", color="black", ms=5, zorder=5)
    ax.set_xlabel("bad outputs that pass")
    ax.set_ylabel("good outputs that pass")
    caption = "Outputs that pass at each cut of the ratings; points: the verdicts as they are."
    cells, areas = (found[name].to_numpy().tolist() for name in ("cell", "auroc"))
    alt = "; ".join(f"{cell} {area:.3f}" for cell, area in zip(cells, areas, strict=True))
    return [Figure(caption, f"ROC, area: {alt}.", ax.figure, "roc")]
