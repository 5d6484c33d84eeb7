"""What every report of a study shows of its comparison with print.

Comparison (data frame) → a sentence, and tables.
"""

import pandas as pd

from hmetad.report.page.report import Block, table_from_frame

__all__ = ["agreement", "comparison_blocks", "written"]


def agreement(comparison: pd.DataFrame) -> str:
    """How many printed values agree, and where the others are found.

    Examples
    --------
    >>> agreement(pd.DataFrame({"agrees": [True, False], "note": ["", "A misprint."]}))
    '1 of 2 printed values agree with ours, within the tolerances given. The other 1 stands below, \
with its cause.'
    """
    differing = comparison[~comparison["agrees"]]
    unexplained = int((differing["note"] == "").sum())
    start = (
        f"{len(comparison) - len(differing)} of {len(comparison)} printed values agree with ours, "
        "within the tolerances given."
    )
    if differing.empty:
        return start
    verb, each = (
        ("stands", "with its cause") if len(differing) == 1 else ("stand", "each with its cause")
    )
    cause = f"{unexplained} of them unexplained" if unexplained else each
    return f"{start} The other {len(differing)} {verb} below, {cause}."


def comparison_blocks(comparison: pd.DataFrame) -> list[Block]:
    """Tables: what disagrees and why, if anything does, and every printed value beside ours."""
    shown = pd.DataFrame(
        {
            "Where": comparison["table"],
            "What": comparison["row"] + ": " + comparison["quantity"],
            "In print": [written(value) for value in comparison["printed"]],
            "Here": [written(value) for value in comparison["ours"]],
        }
    )
    agrees = comparison["agrees"].to_numpy(dtype=bool)
    verdict = ["yes" if one else "no" for one in agrees]
    whole = table_from_frame(
        shown.assign(Agrees=verdict), "Every printed value, and ours.", name="comparison"
    )
    if agrees.all():
        return [whole]
    differing = shown.assign(Cause=comparison["note"])[~agrees]
    caption = "Every disagreement with print, and its cause."
    return [table_from_frame(differing, caption, name="differences"), whole]


def written(value: object) -> str:
    """Number with five significant digits; words as they are."""
    return value if isinstance(value, str) else f"{value:.5g}"
