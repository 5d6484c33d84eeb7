"""Matlab's files, as HMeta-d has its data in → trials.

Path of a .mat file, or of a folder with one for each person → DataFrame, a row per trial. Vectors
of counts become as many trials as they count, once their sum is known. Nothing in a file is run.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, FileError, nearest
from hmetad.base.files import no_file_error
from hmetad.logs.choices import make_choices
from hmetad.logs.limits import Limits, beyond
from hmetad.logs.trials import of_each

# Names that trials and counts bear in HMeta-d, metadpy and their examples, in small letters.
NAMES = {
    "stimulus": ("stimid", "stimulus", "stimuli", "stim"),
    "response": ("response", "responses", "resp"),
    "confidence": ("rating", "ratings", "confidence", "conf"),
    "subject": ("subject", "subj", "subid", "participant", "sub"),
}
COUNTS = ("nr_s1", "nr_s2")
NEEDED = ("stimulus", "response", "confidence")
# Variables that an error names, and levels of structs that are looked through.
SHOWN, DEEPEST = 12, 6
# Column of how often a row occurs; no vector of a file has that name.
TIMES = "\x1ftimes"
ALLOWED = "nR_S1 and nR_S2, or vectors stimID, response and rating"

# Names of vectors in small letters, by role.
type Names = Mapping[str, tuple[str, ...]]


@check_inputs()
def read_matlab(path: str | Path, **options: Any) -> pd.DataFrame:
    """Read trials or counts from Matlab's files.

    Parameters
    ----------
    path : str or Path
        A file ``.mat`` of version 4 to 7, or a folder of them, one for each participant, whose
        names are then the people's.
    **options
        ``columns``: names of the vectors, where they are others than Matlab's toolbox has, such as
        ``{"stimulus": "direction", "confidence": "slider"}``; and those of all kinds, as in
        `read_log`, with ``unpacked`` bytes of the variables of a file as the limit.

    Returns
    -------
    DataFrame
        Columns stimulus, response and confidence, as `count_trials` takes them; subject where there
        are several participants or a vector of them; task where counts come for several. Of trials
        also every other vector of their length. Of counts a row per trial, with stimulus and
        response "S1" and "S2".

    Raises
    ------
    InputError
        If there is no such file, it is not Matlab's or of version 7.3, it has neither of the two,
        or vectors differ in length.

    Notes
    -----
    Read are, at any depth of structs: vectors ``stimID``, ``response`` and ``rating`` (what
    ``trials2counts`` takes); ``nR_S1`` and ``nR_S2`` as vectors of 2K counts, as matrices with a
    row per participant, as cells ``nR_S1{s}``, and as ``nR_S1(task).counts{s}`` of ``groupCorr``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from scipy.io import savemat
    >>> with TemporaryDirectory() as folder:
    ...     savemat(f"{folder}/one.mat", {"nR_S1": [3, 2, 1, 0], "nR_S2": [0, 1, 2, 4]})
    ...     trials = read_matlab(f"{folder}/one.mat")
    >>> trials.value_counts(["stimulus", "response", "confidence"]).loc["S1", "S1", 2].item()
    3
    """
    place, choices = Path(path), make_choices("matlab", options)
    columns, limits = choices.columns or {}, choices.limits
    for name in (name for name in columns if name not in NAMES):
        raise ChoiceError("columns", repr(name), ", ".join(NAMES), nearest(name, NAMES))
    wanted = {name: (columns[name].lower(),) if name in columns else known
              for name, known in NAMES.items()}  # fmt: skip
    files = sorted(place.rglob("*.mat")) if place.is_dir() else [place]
    found = of_each(partial(found_in, wanted, limits), files, choices.executor)
    parts = [
        part.assign(subject=file.stem) if place.is_dir() else part
        for file, several in zip(files, found, strict=True)
        for part in several
    ]
    if not parts:
        steps = ("Name vectors with columns=.", "Name vectors with --columns.")
        held = [] if place.is_dir() else whosmat(place)
        seen = [f"{name} ({'×'.join(map(str, shape))})" for name, shape, _ in held[:SHOWN]]
        more = f" and {len(held) - SHOWN} more" if len(held) > SHOWN else ""
        nothing = "a folder without them" if place.is_dir() else "no variables"
        raise FileError(str(path), ", ".join(seen) + more or nothing, ALLOWED, *steps)
    trials = pd.concat([part.assign(**{TIMES: part.get(TIMES, 1.0)}) for part in parts])
    times = trials.pop(TIMES).to_numpy()
    size = sum(times.tolist()) * trials.shape[1]
    if size > limits.cells:
        raise beyond(str(path), "cells", f"{size:,.0f} values", limits)
    rows = np.repeat(np.arange(len(trials)), times.astype(np.int64))
    trials = trials.iloc[rows].reset_index(drop=True)
    first = [name for name in ("subject", "task", *NEEDED) if name in trials]
    return trials[[*first, *(name for name in trials if name not in first)]]


def found_in(wanted: Names, limits: Limits, path: Path) -> list[pd.DataFrame]:
    """Tables of trials in a file, one for each person and task."""
    return [*tables_in(read_variables(path, limits), wanted, str(path))]


def read_variables(path: Path, limits: Limits) -> dict[str, Any]:
    """Variables of a file: arrays, lists for cells, mappings for structs."""
    if not path.is_file():
        raise no_file_error(path, "a .mat file, or a folder of them")
    try:
        size = sum(8 * math.prod(map(int, shape)) for _, shape, _ in whosmat(path))
        if size <= limits.unpacked:
            return dict(loadmat(path, simplify_cells=True))
    except NotImplementedError as error:
        step = "In Matlab: save('data.mat', 'nR_S1', 'nR_S2', '-v7')."
        raise FileError(str(path), "a file of version 7.3", "version 4 to 7", step) from error
    except Exception as error:
        # SciPy's reader ends a broken file in errors of many types.
        got = f"a file that cannot be read ({type(error).__name__})"
        raise FileError(str(path), got, "a .mat file") from error
    raise beyond(str(path), "unpacked", f"{size:,} bytes", limits)


def tables_in(
    node: Any, wanted: Names, where: str, subject: int | None = None, depth: int = 0
) -> Iterator[pd.DataFrame]:
    """Tables of a variable, a struct or a cell, and of all inside.

    Elements of the outermost cell, or array of structs, are numbered as people.
    """
    parts: list[tuple[Any, int | None]] = []
    if isinstance(node, Mapping):
        named = {str(name).lower(): value for name, value in node.items()}
        found = {role: [named[x] for x in known if x in named] for role, known in wanted.items()}
        vectors = {role: values[0] for role, values in found.items() if values}
        if set(COUNTS) <= set(named):
            yield from tables_of_counts([named[name] for name in COUNTS], subject, where)
        elif set(NEEDED) <= set(vectors):
            yield table_of_trials(vectors, node, subject, where)
        else:
            parts = [(x, subject) for name, x in node.items() if not str(name).startswith("__")]
    elif is_cell(node):
        parts = [(value, subject or number) for number, value in enumerate(node, 1)]
    if depth < DEEPEST:
        for value, person in parts:
            yield from tables_in(value, wanted, where, person, depth + 1)


def table_of_trials(
    vectors: Mapping[str, Any], node: Mapping[str, Any], subject: int | None, where: str
) -> pd.DataFrame:
    """Trials from vectors of one length, with other vectors of the struct that have it."""
    own = {name: np.ravel(np.asarray(value)) for name, value in vectors.items()}
    lengths = {name: len(own[name]) for name in NEEDED}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {number}" for name, number in lengths.items())
        raise FileError(where, f"vectors of different lengths: {got}", "one length")
    number = lengths["stimulus"]
    if "subject" in own and len(own["subject"]) == 1:
        own["subject"] = np.repeat(own["subject"], number)
    taken = {id(value) for value in vectors.values()}
    for name, value in node.items():
        flat = np.ravel(value) if isinstance(value, np.ndarray) else np.empty(0)
        is_plain = flat.dtype.kind in "biufU" and id(value) not in taken
        if is_plain and len(flat) == number and name not in own:
            own[str(name)] = flat
    return with_person(pd.DataFrame(own), subject)


def with_person(table: pd.DataFrame, subject: int | None) -> pd.DataFrame:
    """Table with the number of the person, if it has one and no column of people."""
    return table if subject is None or "subject" in table else table.assign(subject=subject)


def tables_of_counts(
    sides: Sequence[Any], subject: int | None, where: str
) -> Iterator[pd.DataFrame]:
    """Outcomes and how often they occur, from nR_S1 and nR_S2 in any of their forms."""
    tasks = [list(one) if is_cell(one) else [one] for one in sides]
    if all(isinstance(x, Mapping) and "counts" in x for side in tasks for x in side):
        # One element for each task.
        for task, pair in enumerate(zip(*tasks, strict=False), 1):
            for part in tables_of_counts([one["counts"] for one in pair], subject, where):
                yield part.assign(task=task)
        return
    first, second = map(people_of, sides)
    if len(first) != len(second):
        got = f"{len(first)} rows of nR_S1 beside {len(second)} of nR_S2"
        raise FileError(where, got, "as many people in both")
    for number, (a, b) in enumerate(zip(first, second, strict=True), 1):
        yield with_person(outcomes(a, b, where), subject if len(first) == 1 else number)


def is_cell(value: Any) -> bool:
    """Whether a value is a cell or an array of structs."""
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object)


def people_of(value: Any) -> list[NDArray[Any]]:
    """Vectors of counts, one for each person."""
    if is_cell(value):
        return [np.ravel(x) for x in value]
    array = np.atleast_2d(np.asarray(value))
    return list(array) if array.shape[0] == 1 or array.shape[1] > 1 else [array.ravel()]


def outcomes(first: NDArray[Any], second: NDArray[Any], where: str) -> pd.DataFrame:
    """Outcomes of trials, and how often two vectors count them."""
    if len(first) != len(second) or len(first) % 2 or len(first) == 0:
        got = f"{len(first)} and {len(second)} counts of a person"
        raise FileError(where, got, "2K counts of each stimulus")
    counts = np.stack([first, second])
    is_whole = counts.dtype.kind in "biuf" and (np.isfinite(counts) & (np.floor(counts) == counts))
    if not np.all(is_whole) or (counts < 0).any():
        step = "Remove what was added to the counts, such as 1/(2K): padding moves M."
        raise FileError(where, "counts that are no whole numbers", "numbers of trials", step)
    ratings = counts.shape[1] // 2
    response = np.repeat(["S1", "S2"], ratings)
    confidence = np.concatenate([np.arange(ratings, 0, -1), np.arange(1, ratings + 1)])
    return pd.DataFrame(
        {
            "stimulus": np.repeat(["S1", "S2"], 2 * ratings),
            "response": np.tile(response, 2),
            "confidence": np.tile(confidence, 2),
            TIMES: counts.ravel().astype(np.float64),
        }
    )
