"""Columns of difficulty: cells whose trials differ in a column that accuracy varies with.

Sample of trials with the columns that are not in use, or the one that `difficulty=` names → list of
Notice. The data decide which columns are of difficulty. A name only
excludes: values cannot distinguish response times in coarse steps, or a second rating, from a
staircase.
Source: Rahnev & Fleming (2019) for the effect of mixtures on M-ratio; Mantel (1963) and Landis,
Heyman & Koch (1978) for the test of all strata together.
"""

from collections.abc import Mapping, Sequence
from itertools import batched

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc

from hmetad.base.notice import Notice, notice_of
from hmetad.base.notice_registry import limit
from hmetad.counts.columns import as_text, group_numbers
from hmetad.counts.described import is_answer_name
from hmetad.counts.items import LOOKED_AT, MOST_COLUMNS, unused_columns
from hmetad.rows.duplicates import is_item_name
from hmetad.rows.queries import Rows, Tally

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]

CODE = "mixed-difficulty"
# Columns whose first rows are read together.
TOGETHER = 20
# Hardly two trials of a cell share a value, such as a time, if fewer than this share of pairs do.
FEWEST_PAIRS = 0.03
# The sign of a column is the stimulus if it goes with it in more than this share of trials.
SIGN_IS_STIMULUS = 0.95
# More different numbers than this are taken in groups of the cell.
MOST_LEVELS, RANK_GROUPS = 12, 10
# A column that explains more than this of accuracy, or of confidence, was made of it.
MADE_OF_ACCURACY, MADE_OF_CONFIDENCE = 0.5, 0.8
# Chance of a false alarm, for all columns of a table together.
FALSE_ALARM = 0.001


def difficulty_columns(
    rows: Rows, used: Sequence[str], by: Sequence[str], roles: Mapping[str, str]
) -> list[str]:
    """Columns that may be of difficulty by their first rows.

    At most 60 columns are read, and none that is in use, or named like items or answers.
    """
    names = [name for name in unused_columns(rows, used) if not is_item_name(name)]
    names = [name for name in names if not is_answer_name(name)]
    found = []
    for part in batched(names[:MOST_COLUMNS], TOGETHER):
        first = rows.first_rows([*by, *roles.values(), *part], LOOKED_AT)
        # As text, because values that cannot be grouped or written are refused elsewhere.
        first = first.assign(**{name: first[name].map(ascii) for name in by})
        first, answers, _ = answers_of(first, np.ones(len(first), dtype=np.int64), by, roles)
        found += [name for name in part if may_differ(first[name], answers)]
    return found


def difficulty_notices(
    sample: Tally,
    by: Sequence[str],
    roles: Mapping[str, str],
    labels: Sequence[str],
    named: str | None = None,
) -> list[Notice]:
    """Notice of the cells whose trials differ in the column that is named, numbers but for sign.

    Without one, in columns that accuracy varies with.
    Accuracy varies with a column if the generalised Mantel-Haenszel test within cell and stimulus
    rejects equal accuracy, at 0.001 for all columns together, and if its standard deviation between
    the levels of the column is above the limit. The column with the largest one comes first.
    """
    frame, answers, cells = answers_of(*sample, by, roles)
    if named is not None:
        names, values = [named], frame[[named]]
        values = values.abs() if is_numeric(frame[named]) else values
    else:
        others = [str(name) for name in frame if name not in (*by, *roles.values())]
        columns = [name for name in others if may_differ(frame[name], answers)]
        tests = {name: accuracy_by(frame[name], answers) for name in columns}
        level = FALSE_ALARM / max(len(tests), 1)
        found = {name: sd for name, (sd, p) in tests.items() if p < level and sd > limit(CODE)}
        names, values = sorted(found, key=lambda name: -found[name]), frame
    mixed = {cell for name in names for cell in mixed_cells(values[name], answers, cells)}
    where = [label for label in labels if label in mixed]
    said = {"columns": ", ".join(map(str, names)), "first": next(iter(names), None)}
    code = CODE if named is None else "mixed-difficulty.named"
    return [notice_of(code, where, **said)] if where else []


def answers_of(
    frame: pd.DataFrame, n: Ints, by: Sequence[str], roles: Mapping[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Trials without a missing answer, these as numbers, and the labels of the cells.

    The numbers are for each trial the cell, the stratum (twice the cell plus the stimulus), whether
    it is correct, the rank of its confidence in the cell, and how often it counts.
    """
    known = (frame[[*by, *roles.values()]].notna().all(axis=1) & (n > 0)).to_numpy()
    frame, n = frame[known], n[known]
    cell = group_numbers(frame[list(by)])
    first = frame.loc[~pd.Series(cell, frame.index).duplicated(), list(by)]
    labels = [" | ".join(map(as_text, row)) or "all" for row in first.to_numpy(dtype=object)]
    answers = (map(as_text, frame[roles[role]].tolist()) for role in ("stimulus", "response"))
    # As objects: text of Arrow has no halves of characters, which are refused elsewhere.
    shown, said = (np.array([*own], dtype=object) for own in answers)
    confidence = pd.to_numeric(frame[roles["confidence"]], errors="coerce").astype(float)
    numbers = {
        "cell": cell,
        "stratum": 2 * cell + (pd.factorize(shown)[0] > 0),
        "right": shown == said,
        "confidence": confidence.fillna(0).groupby(cell).rank().to_numpy(dtype=np.float64),
        "n": n.astype(np.float64),
    }
    return frame, pd.DataFrame(numbers, frame.index), labels


def mixed_cells(values: pd.Series, answers: pd.DataFrame, cells: Sequence[str]) -> set[str]:
    """Labels of the cells that have several values of a column for one stimulus."""
    pairs = answers[["stratum"]].assign(value=pd.factorize(values)[0])[values.notna().to_numpy()]
    several = pairs.drop_duplicates().groupby("stratum").size()
    return {cells[stratum // 2] for stratum in several.index[several > 1]}


# Which columns can be of difficulty


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers."""
    return values.dtype.kind in "iuf"


def is_shared(values: pd.Series, cell: Ints, n: Floats) -> bool:
    """Whether two trials of a cell share a value often enough; True where no cell has two."""
    rows = pd.DataFrame({"cell": cell, "value": values.to_numpy(), "n": n})
    alike = rows.groupby(["cell", "value"])["n"].sum()
    together = rows.groupby("cell")["n"].sum()
    pairs = float((together * (together - 1)).sum())
    return pairs <= 0 or float((alike * (alike - 1)).sum()) >= FEWEST_PAIRS * pairs


def may_differ(values: pd.Series, answers: pd.DataFrame) -> bool:
    """Whether a column can be of difficulty.

    It has numbers that trials of a cell share, its sign is not the stimulus, and it was not made of
    the answer.
    """
    known = values.notna().to_numpy()
    values, answers = values[known], answers[known]
    cell, stratum, right, confidence, n = (answers[name].to_numpy() for name in answers)
    if not is_numeric(values) or not is_shared(values, cell, n):
        return False
    signed = (values != 0).to_numpy()
    is_above, stimulus = (values > 0).to_numpy()[signed], stratum[signed] % 2 > 0
    agrees = float((is_above == stimulus).mean()) if 0 < is_above.sum() < len(is_above) else 0.5
    if max(agrees, 1 - agrees) > SIGN_IS_STIMULUS:
        return False
    level = levels_of(values, cell)
    of_accuracy = explained(right.astype(float), stratum, level, n)
    of_confidence = explained(confidence, 2 * stratum + right, level, n)
    return of_accuracy <= MADE_OF_ACCURACY and of_confidence <= MADE_OF_CONFIDENCE


# How accuracy varies with a column


def accuracy_by(values: pd.Series, answers: pd.DataFrame) -> tuple[float, float]:
    """Standard deviation of accuracy between the levels of a column, and p of equal accuracy.

    The former is without the part that chance explains. A column that does not vary within cell and
    stimulus has 0 and 1.
    """
    known = values.notna().to_numpy()
    if not known.any():
        return 0.0, 1.0
    cell, stratum, right, _, n = (answers[name].to_numpy()[known] for name in answers)
    level = levels_of(values[known], cell)
    size = (int(stratum.max()) + 1, int(level.max()) + 1)
    place = stratum * size[1] + level
    trials, hits = (
        np.bincount(place, weight, size[0] * size[1]).reshape(size) for weight in (n, n * right)
    )
    sums, right_sums = (table.sum(axis=1, keepdims=True) for table in (trials, hits))
    some = ((right_sums > 0) & (right_sums < sums))[:, 0]
    m, N, a = trials[some], sums[some], right_sums[some]
    # Moments of the hypergeometric distribution of permutations within the strata.
    weight = a * (N - a) / (N * N * (N - 1))
    apart = (hits[some] - m * a / N).sum(axis=0)
    statistic, df = quadratic_form(apart, (weight * N * m).sum(axis=0), (weight * m).T @ m)
    if not df:
        return 0.0, 1.0
    variance = max(statistic - df, 0) * (a * (N - a) / N).sum() / N.sum() ** 2
    return float(np.sqrt(variance)), float(chdtrc(df, statistic))


def levels_of(values: pd.Series, cell: Ints) -> Ints:
    """Number of each value, or of its tenth of the cell where there are many values."""
    codes, different = pd.factorize(values)
    if len(different) <= MOST_LEVELS:
        return codes.astype(np.int64)
    numbers = pd.Series(values.to_numpy(dtype=float, na_value=np.nan))
    place = numbers.groupby(cell).rank(pct=True).to_numpy()
    return np.minimum(place * RANK_GROUPS, RANK_GROUPS - 1).astype(np.int64)


def explained(outcome: Floats, stratum: Ints, level: Ints, n: Floats) -> float:
    """Share of the variance within strata that levels explain, adjusted for their number."""
    table = pd.DataFrame({"stratum": stratum, "level": level, "n": n})
    table["sum"], table["squares"] = n * outcome, n * outcome**2
    left = []
    for keys in (["stratum"], ["stratum", "level"]):
        sums = table.groupby(keys)[["n", "sum", "squares"]].sum()
        free = sums["n"].sum() - len(sums)
        rest = (sums["squares"] - sums["sum"] ** 2 / sums["n"]).sum()
        left.append(rest / free if free > 0 else np.nan)
    return float(1 - left[1] / left[0]) if left[0] > 0 else 0.0


def quadratic_form(sums: Floats, diagonal: Floats, shared: Floats) -> tuple[float, int]:
    """Sums in units of their covariance, a diagonal minus what is shared; squared, and its rank."""
    variances, axes = np.linalg.eigh(np.diag(diagonal) - shared)
    # For a column that does not vary within strata all but rounding is shared.
    is_kept = variances > 1e-9 * diagonal.max(initial=0)
    return float(((axes.T @ sums)[is_kept] ** 2 / variances[is_kept]).sum()), int(is_kept.sum())
