"""The answer of a page in one sentence, from the same decisions as table and figure.

Decisions, or the population of a fit → a sentence in the words of the design.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from hmetad.compare.decisions import Decisions
from hmetad.compare.words import COLUMNS
from hmetad.report.contents.leaderboard import in_a_row
from hmetad.report.contents.tables import reasons_withheld
from hmetad.report.page.blocks import interval_cell
from hmetad.report.page.layout import VERDICTS
from hmetad.text.cells import format_cell
from hmetad.text.names import LOG_RATIO, symbol

# Comparisons of a verdict that are named, and conditions.
MOST_NAMED, MOST_CONDITIONS = 2, 4
ENDS = ("mean", "lower", "upper")


def answer_sentence(decisions: Decisions) -> str:
    """What decisions say: of one its size and verdict, of several how many have which verdict."""
    rows, reasons = decisions.table().to_dict("records"), reasons_withheld(decisions)
    if len(rows) == 1:
        return verdict_sentence(rows[0], reasons[0], decisions)
    named: dict[str, list[str]] = {word: [] for word in VERDICTS}
    for row, why in zip(rows, reasons, strict=True):
        size = why or interval_cell((row[x] for x in ENDS), "z.2f").text
        named.setdefault(row["verdict"], []).append(f"{row['label']}: {size}")
    parts = [
        f"{len(own)} {'is' if len(own) == 1 else 'are'} "
        f"{'withheld' if word == 'unreliable' else word} ({first_named(own)})"
        for word, own in named.items()
        if own
    ]
    of = symbol(decisions.quantity)
    if len(parts) == 1:
        words = parts[0].removeprefix(f"{len(rows)} are ")
        start = f"{'Both' if len(rows) == 2 else f'All {len(rows)}'} comparisons of {of}"
        return f"{start} are {words.replace(' (', f' at {limits_in_words(decisions)} (', 1)}."
    return f"Of {len(rows)} comparisons of {of} at {limits_in_words(decisions)}, {in_a_row(parts)}."


def verdict_sentence(row: Mapping[Hashable, Any], why: str, decisions: Decisions) -> str:
    """One decision in words: which side is higher, by how much, and the verdict at the ROPE."""
    kind = decisions.results.attrs.get("kind", "")
    is_pair = kind in ("difference", "log_ratio") and {"left", "right"} <= {*row}
    quantity = symbol(decisions.quantity.removeprefix(LOG_RATIO))
    levels = ", ".join(str(row[name]) for name in held_equal(decisions))
    where = f" in {levels}" if levels else ""
    if why:
        whom = f"for {row['left']} and {row['right']}" if is_pair else f"({row['label']})"
        return f"There is no verdict on {quantity} {whom}{where}: {why}."
    verdict = f"{row['verdict']} at {limits_in_words(decisions)}"
    verdict += f"; {evidence(row)}" if row.get("bf10", 0) > 0 else ""
    start = quantity[:1].upper() + quantity[1:] if quantity[:2].isalpha() else quantity
    ends = [row[x] for x in ENDS]
    if not is_pair:
        return f"{start} ({row['label']}) is {interval_cell(ends, 'z.2f')}: {verdict}."
    side = "lower" if row["mean"] < 0 else "higher"
    ends = [-ends[0], -ends[2], -ends[1]] if row["mean"] < 0 else ends
    by = f"by {'a log ratio of ' * (kind == 'log_ratio')}{interval_cell(ends, 'z.2f')}"
    return f"{start} is {side} for {row['left']} than for {row['right']}{where}, {by}: {verdict}."


def evidence(row: Mapping[Hashable, Any]) -> str:
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


def population_sentence(rows: pd.DataFrame) -> str:
    """Values of one quantity of the population, in a few conditions; empty without any."""
    if rows.empty:
        return ""
    found = [
        f"{interval_cell((row[x] for x in ENDS), 'z.2f')}{f' ({term})' if term else ''}"
        for row, term in zip(rows.to_dict("records"), rows["term"], strict=True)
    ]
    rest = f" and {len(found) - MOST_CONDITIONS} more conditions" * (len(found) > MOST_CONDITIONS)
    name, listed = rows["quantity"].iloc[0], "; ".join(found[:MOST_CONDITIONS])
    return f"In the population, {name} is {listed}{rest}."


def held_equal(decisions: Decisions) -> list[str]:
    """Coordinates that both sides of a contrast agree in: all that say nothing of a contrast."""
    results = decisions.results
    dim = next(iter(results.dims))
    others = {dim, "left", "right", *(column.name for column in COLUMNS)}
    return [str(k) for k, v in results.coords.items() if v.dims == (dim,) and k not in others]


def limits_in_words(decisions: Decisions) -> str:
    """Limits of the ROPE, short where they are alike around 0."""
    low, high = decisions.rope
    if low == -high:
        return f"± {format_cell(high, 'g')}"
    return f"a ROPE of {format_cell(low, 'g')} to {format_cell(high, 'g')}"


def first_named(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    rest = len(names) - MOST_NAMED
    return "; ".join(names[:MOST_NAMED]) + (f"; {rest} more" if rest > 0 else "")
