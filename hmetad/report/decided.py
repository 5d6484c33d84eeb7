"""What a report says of decisions: the rule, then each verdict, however many there are.

Decisions, with the fit they are on → blocks.
"""

from collections.abc import Mapping, Sequence

import xarray as xr

from hmetad.compare.decisions import Decisions
from hmetad.errors import InputError
from hmetad.report.blocks import Block, Prose, table_from_frame
from hmetad.report.names import symbol
from hmetad.report.pairwise import Stratum, counts_table, is_many, pair_matrix, pair_strata
from hmetad.report.rankings import ranking_table, ranks_of
from hmetad.report.tables import decision_figure, decision_table

__all__ = ["changed_verdicts", "decided"]

RULE = (
    "Two questions are answered for each contrast. Statistical: does its interval exclude {null}? "
    "Practical: where does the interval lie against the region of practical equivalence (ROPE), "
    "{rope}? Outside: different. Inside: negligible. Otherwise: inconclusive. A verdict is "
    "withheld (unreliable) where the chains did not mix or its Monte Carlo error could turn it."
)


def decided(decisions: Decisions, fit: xr.DataTree | None = None) -> list[Block]:
    """Rule, then a table and figure, or of many pairs a matrix of each stratum.

    With the fit whose cells were compared, each stratum has its ranking too.
    """
    strata = pair_strata(decisions) if is_many(decisions) else []
    quantity = symbol(decisions.quantity)
    opening = Prose(f"Decisions: {quantity}", (rule(decisions),))
    caption, name = f"Differences in {quantity}", f"decisions-{decisions.quantity}"
    if strata:
        return [opening, *decided_by_stratum(decisions, strata, fit, caption, name)]
    blocks: list[Block] = [opening, decision_table(decisions, f"{caption}.", name=name)]
    if not is_many(decisions):
        shown = f"{caption}, against the ROPE (band)."
        blocks.append(decision_figure(decisions, shown, name=name))
    return blocks


def decided_by_stratum(
    decisions: Decisions,
    strata: Sequence[Stratum],
    fit: xr.DataTree | None,
    caption: str,
    name: str,
) -> list[Block]:
    """Verdicts counted, then ranks and a matrix for each stratum."""
    ranks = None if fit is None else ranks_of(fit, decisions)
    counted = f"{caption}: pairs by verdict."
    blocks: list[Block] = [counts_table(strata, counted, name=f"{name}-counted")]
    for place, stratum in enumerate(strata, start=1):
        where, stem = f": {stratum.name}" if stratum.name else "", f"{name}-{place}"
        if stratum.name:
            blocks.append(Prose(f"Decisions: {symbol(decisions.quantity)}{where}", ()))
        if ranks is not None:
            blocks.append(ranking_table(ranks, stratum, name=f"{stem}-ranks"))
        blocks.append(pair_matrix(decisions, stratum, f"{caption}{where}.", name=stem))
    return blocks


def rule(decisions: Decisions) -> str:
    """How verdicts come about, with the numbers used."""
    rope = " to ".join(f"{limit:g}".replace("-", "−") for limit in decisions.rope)
    return RULE.format(null=f"{decisions.null:g}", rope=rope)


def changed_verdicts(made: list[Decisions], others: Mapping[str, Decisions]) -> list[Block]:
    """Which of the first verdicts are others under another choice."""
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
    differ = frame[list(others)].ne(frame["as decided"], axis=0)
    shown = frame[differ.any(axis=1)]
    counted = "; ".join(f"{name}: {int(differ[name].sum())}" for name in others)
    said = f"Of {len(frame)} verdicts change: {counted}."
    blocks: list[Block] = [Prose("Sensitivity", (said,))]
    if len(shown):
        columns = {"label": "Contrast"} | {name: name for name in shown.columns[1:]}
        caption = "Verdicts that another choice changes."
        blocks.append(table_from_frame(shown, caption, columns=columns, name="sensitivity"))
    return blocks
