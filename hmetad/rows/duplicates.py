"""Trials that are there twice: files with the same bytes, and rows that are the same.

Paths, or a DataFrame of rows → list of Notice; nothing is dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from hmetad.base.notice import Notice, first_few, notice_of

ITEM_NAMES = frozenset(
    f"{name}{end}" for name in ("image", "item", "problem", "question") for end in ("", "_id")
) | {"doc_id", "prompt_id", "sentence", "word"}
TRIAL_NAMES = frozenset(
    f"trial{end}" for end in ("", "s", "_id", "_index", "_n", "_number", "_num", "number", "num")
)
PEOPLE_NAMES = frozenset(
    [
        *("annotator", "observer", "participant", "person", "rater", "session"),
        *("subj", "subj_idx", "subject", "user", "worker"),
    ]
)
MODEL_NAMES = frozenset(["llm", "model"])
# Beside the number of the trial; with fewer, rows of several people may be the same by chance.
FEWEST_COLUMNS = 5


def file_notices(files: Iterable[Path]) -> list[Notice]:
    """Notice of files that have the same bytes.

    Parameters
    ----------
    files : iterable of Path

    Returns
    -------
    list of Notice
        One or none. Only files of the same size are read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     files = [Path(folder, name) for name in ("a.csv", "b.csv", "c.csv")]
    ...     for file, text in zip(files, ("1", "2", "2")):
    ...         _ = file.write_text(text)
    ...     [notice.code for notice in file_notices(files)]
    ['same-files']
    """
    sizes = defaultdict(list)
    for file in files:
        if file.is_file():
            sizes[file.stat().st_size].append(file)
    same = defaultdict(list)
    for size, alike in sizes.items():
        for file in alike if size and len(alike) > 1 else []:
            with file.open("rb") as content:
                same[hashlib.file_digest(content, "sha256").digest()].append(str(file))
    groups = [" = ".join(group) for group in same.values() if len(group) > 1]
    return [notice_of("same-files", listed=first_few(groups))] if groups else []


def row_notices(table: pd.DataFrame) -> list[Notice]:
    """Notice of rows that are the same in all columns, where one of these names an item or trial.

    Parameters
    ----------
    table : DataFrame
        One row per trial. Where no column is named like who answered, column ``file`` tells it.

    Returns
    -------
    list of Notice
        One or none.

    Examples
    --------
    >>> table = pd.DataFrame({"item": [1, 2, 2], "correct": [1, 0, 0]})
    >>> row_notices(table)[0].message.partition(" rows")[0]
    '1 of 3'
    """
    name = name_of_rows([*table.columns])
    if name is None:
        return []
    if any(map(is_name_of_who, table.columns)):
        table = table.drop(columns="file", errors="ignore")
    try:
        copies = int(table.duplicated().sum())
    except TypeError:
        # Lists and objects cannot be compared by their hashes.
        copies = int(table.astype(str).duplicated().sum())
    return same_rows(copies, len(table), name)


def name_of_rows(columns: Sequence[object]) -> str | None:
    """Name of the first column that names items, or trials; None where none does."""
    names = [name for name in columns if is_item_name(name)]
    if not names and len(columns) > FEWEST_COLUMNS:
        names = [name for name in columns if plain_name(name) in TRIAL_NAMES]
    return str(names[0]) if names else None


def same_rows(copies: int, number: int, column: str) -> list[Notice]:
    """Notice of so many rows that are the same as others; none of 0."""
    said = {"copies": copies, "all": number, "column": repr(column)}
    return [notice_of("same-rows", **said)] if copies else []


def is_item_name(name: object) -> bool:
    """Whether a column is named like items.

    Examples
    --------
    >>> is_item_name("questionId"), is_item_name("model")
    (True, False)
    """
    return plain_name(name) in ITEM_NAMES


def is_people_name(name: object) -> bool:
    """Whether a column is named like people.

    Examples
    --------
    >>> is_people_name("participant_id"), is_people_name("model")
    (True, False)
    """
    return plain_name(name).removesuffix("_id") in PEOPLE_NAMES


def is_name_of_who(name: object) -> bool:
    """Whether a column is named like those who answered: people, or models."""
    return is_people_name(name) or plain_name(name) in MODEL_NAMES


def plain_name(name: object) -> str:
    """Name in lower case, its words joined by "_".

    Examples
    --------
    >>> plain_name("itemId")
    'item_id'
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name).strip())
    return re.sub(r"[\W_]+", "_", words).lower()
