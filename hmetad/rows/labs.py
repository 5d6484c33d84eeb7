"""Files of the programs that run experiments, as tables with one row per trial.

File of PsychoPy, Pavlovia, jsPsych, Gorilla, Qualtrics, SPSS, Stata or Excel → cells as text, and a
sentence on each thing that was changed. Columns are added; those of the file keep their names,
except a column stimulus that holds something else than the labels of the response.
Source: PsychoPy 2025.1, jsPsych 8.3, exports of Gorilla and Qualtrics, pyreadstat 1.3.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pandas as pd

from hmetad.base.errors import FileError, InputError, InstallError
from hmetad.base.files import LABS
from hmetad.base.notice import Notice, first_few, notice_of

# Sentences on what was taken, and the number that stands for "{n}" in each.
type Taken = Counter[str]

# Excel's files, unpacked, and JSON are read up to this size.
MOST_BYTES = 2**28
# Counters of a loop of PsychoPy; names of loops of practice.
LOOP = re.compile(r"(.+)\.this(?:N|RepN|TrialN|Index)")
PRACTICE = re.compile(r"(?<![a-z])(prac|train|warm|demo|example|tutorial|familiari)", re.IGNORECASE)
RATED = (".response", ".rating", ".keys")
JSPSYCH = {"trial_type", "trial_index", "time_elapsed"}
PERSON, TRIAL = "Participant Private ID", "Trial Number"
# What a row of jsPsych or Gorilla is about: the first of these columns that is filled.
PARTS = ("task", "phase", "screen", "part", "trial_part", "test_part", "name", "trial_type")
ZONES = ("Zone Name", "Object Name", "Component Name", "Zone Type", "Screen Name")
# Responses of jsPsych that count from 0; names of ratings that are confidence.
FROM_ZERO = re.compile(r"button-response|survey-likert")
SURE = re.compile(r"conf|sure|certain|rating", re.IGNORECASE)
# Columns that tell experiments apart.
EXPERIMENTS = ("expName", "experiment", "Experiment ID", "Task Name")
TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
# How programs write that there was no response; Qualtrics, that a question was seen only.
NO_RESPONSE, UNANSWERED = ("", "None", "null"), "-99"
# Ratings in a smaller proportion of the trials belong to something else.
FEWEST_RATED = 0.05


class LabTable(NamedTuple):
    """Program that wrote a file, its cells as text, and what was taken of it."""

    program: str
    cells: pd.DataFrame
    taken: Taken


def lab_table(
    path: Path, readable: Path, sep: str | None, first: Sequence[Sequence[str]]
) -> LabTable | None:
    """Table of a file of a program of labs, None of other files; a text has first rows."""
    taken: Taken = Counter()
    program = program_of(first[0], first[1:3]) if first else ""
    if sep is not None and program:
        cells = text_cells(readable, sep)
    elif path.suffix.lower() in LABS:
        program, cells = opened(path, taken)
        program = program_of([*map(str, cells)], cells.head(2).to_numpy().tolist()) or program
    else:
        return None
    cells = cells.rename(columns=str)
    cells = cells.drop(
        columns=[x for x in map(str, cells) if x[:8] == "Unnamed:" and not any(cells[x])]
    )
    cells = RULES.get(program, lambda same, _: same)(cells, taken)
    for name in (name for name in EXPERIMENTS if name in cells):
        several = cells[name][cells[name] != ""].value_counts()
        if len(several) > 1:
            said = first_few([f"{one} ({n} rows)" for one, n in several.items()])
            taken[f"several experiments in column {name}, {said}: select one, or count by it"] += 1
    return LabTable(program, cells, taken)


def text_cells(path: Path, sep: str) -> pd.DataFrame:
    """Cells of a plain text, empty at the end of short rows; " " is any number of spaces."""
    sign: Any = r"\s+" if sep == " " else sep
    cells = pd.read_csv(path, sep=sign, dtype=str, na_filter=False, encoding="utf-8-sig")
    if not isinstance(cells.index, pd.RangeIndex):
        raise ValueError("rows with more cells than the header")
    return cells.fillna("")


def lab_notices(files: Iterable[tuple[str, Taken]]) -> list[Notice]:
    """Notice of each program, with what was taken of all of its files."""
    by_program: dict[str, Taken] = {}
    for program, taken in files:
        by_program.setdefault(program, Counter()).update(taken)
    said = {
        program: "; ".join(x.replace("{n}", f"{n:,}") for x, n in taken.items() if n)
        for program, taken in by_program.items()
    }
    return [notice_of("lab-file", program=x, taken=one) for x, one in said.items() if one]


def program_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Program that wrote a table, by its header and its first rows; empty for others.

    Examples
    --------
    >>> program_of(["stim", "trials.thisN"], []), program_of(["stim", "trial"], [])
    ('PsychoPy', '')
    """
    if question_rows(rows):
        return "Qualtrics"
    if {*header} >= JSPSYCH:
        return "jsPsych"
    if {*header} >= {PERSON, TRIAL}:
        return "Gorilla"
    return "PsychoPy" if any(map(LOOP.fullmatch, header)) else ""


def question_rows(rows: Iterable[Sequence[object]]) -> int:
    """Number of the first rows, up to the one with the ids of Qualtrics's questions; else 0."""
    for number, row in enumerate(rows, 1):
        if any(isinstance(cell, str) and cell.startswith('{"ImportId"') for cell in row):
            return number
    return 0


def practice_notices(table: pd.DataFrame) -> list[Notice]:
    """Notice of a table that still has the rows of PsychoPy's practice."""
    loops = ((name, LOOP.fullmatch(str(name))) for name in table)
    practice = [name for name, loop in loops if loop and PRACTICE.search(loop[1])]
    is_practice = table[practice].notna().any(axis=1)
    if not 0 < is_practice.sum() < len(table):
        return []
    number = int(is_practice.sum())
    return [notice_of("practice-rows", number=number, total=len(table), column=practice[0])]


# Files that are not text


def opened(path: Path, taken: Taken) -> tuple[str, pd.DataFrame]:
    """Program and cells of a file that is not text, or an error that names it."""
    try:
        return OPENED[path.suffix.lower()](path, taken)
    except InputError:
        raise
    except ImportError as error:
        got, step = f"no package {error.name}", 'In the clone: pip install ".[labs]".'
        raise InstallError(str(path), got, "the package that reads it", step) from error
    except Exception as error:
        # Other packages end a damaged file in errors of many types.
        reason = (str(error) or type(error).__name__).splitlines()[0]
        got = f"a file that cannot be read ({reason})"
        raise FileError(str(path), got, f"an undamaged {path.suffix}") from error


def opened_statistics(path: Path, taken: Taken) -> tuple[str, pd.DataFrame]:
    """Cells of a file of SPSS or Stata: labels in place of codes, user-missing codes as missing."""
    read, program = ("read_dta", "Stata") if path.suffix.lower() == ".dta" else ("read_sav", "SPSS")
    frame, meta = getattr(import_module("pyreadstat"), read)(path, user_missing=True)
    for name in {**meta.missing_ranges, **meta.missing_user_values}:
        ranges = meta.missing_ranges.get(name, [])
        parts = [frame[name].between(one["lo"], one["hi"]) for one in ranges]
        parts.append(frame[name].isin(meta.missing_user_values.get(name, [])))
        is_code = pd.concat(parts, axis=1).any(axis=1)
        named = ", ".join(map(text_of, sorted({*frame[name][is_code]})))
        frame[name] = frame[name].mask(is_code)
        taken[f"user-missing values of {name} ({named}): {{n}}"] += int(is_code.sum())
    for name, labels in meta.variable_value_labels.items():
        codes = {*frame[name].dropna()}
        # The codes of a scale of confidence are in order; 0 and 1 say what is correct.
        if codes and codes <= {*labels} and not codes <= {0, 1} and not SURE.search(name):
            frame[name] = frame[name].map(labels)
            taken[f"codes of {name} replaced by their labels"] += 1
    return program, frame.astype(object).map(text_of)


def opened_excel(path: Path, taken: Taken) -> tuple[str, pd.DataFrame]:
    """Cells of the one sheet of a workbook that is filled."""
    with ZipFile(path) as archive:
        check_size(path, sum(one.file_size for one in archive.infolist()))
    sheets = pd.read_excel(path, sheet_name=None, dtype=object)
    filled = {str(name): one for name, one in sheets.items() if not one.empty}
    if len(filled) != 1:
        some = next(iter(filled), "NAME")
        step = f"Choose one: pandas.read_excel(FILE, sheet_name={some!r})."
        got = f"sheets {first_few([*map(repr, filled)], ', ')}" if filled else "only empty sheets"
        shell = "Save the sheet with the trials as CSV."
        raise FileError(str(path), got, "one sheet with rows", step, shell)
    ((name, frame),) = filled.items()
    taken[f"sheet {name!r}"] += 1
    return "Excel", frame.map(text_of)


def opened_json(path: Path, taken: Taken) -> tuple[str, pd.DataFrame]:
    """Cells of an array of objects, or of arrays of them, one for each participant."""
    check_size(path, path.stat().st_size)
    rows = json.loads(path.read_text(encoding="utf-8-sig"))
    if isinstance(rows, list) and rows and all(isinstance(one, list) for one in rows):
        taken["arrays, numbered in column run: {n}"] += len(rows)
        rows = [{"run": number, **row} for number, own in enumerate(rows, 1) for row in own]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise FileError(str(path), "other JSON", "an array of objects, one per row")
    names = dict.fromkeys(name for row in rows for name in row)
    return "JSON", pd.DataFrame({x: [text_of(row.get(x)) for row in rows] for x in names})


def check_size(path: Path, size: int) -> None:
    """Refuse a file that is larger, once it is unpacked, than those of an experiment."""
    if size > MOST_BYTES:
        raise FileError(str(path), f"{size:,} bytes", f"at most {MOST_BYTES:,}", "Save it as CSV.")


def text_of(value: Any) -> str:
    """Cell of a value: integers without a point; for an object with one value, that value."""
    if isinstance(value, dict) and len(value) == 1:
        return text_of(next(iter(value.values())))
    if isinstance(value, dict | list | bool):
        return json.dumps(value)
    if value is None or pd.isna(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


OPENED: dict[str, Callable[[Path, Taken], tuple[str, pd.DataFrame]]] = {
    **dict.fromkeys((".sav", ".zsav", ".dta"), opened_statistics),
    **dict.fromkeys((".xlsx", ".xlsm"), opened_excel),
    ".json": opened_json,
}


# Rules


def of_qualtrics(cells: pd.DataFrame, taken: Taken) -> pd.DataFrame:
    """Rows below those of the questions and their ids; -99 is a question without an answer."""
    number = question_rows(cells.head(2).to_numpy().tolist())
    taken["rows of labels under the header excluded: {n}"] += number
    is_code = cells == UNANSWERED
    if is_code.any(axis=None):
        taken["values -99 (seen, not answered) taken as missing: {n}"] += int(is_code.sum().sum())
    return cells.mask(is_code, "")[number:]


def of_psychopy(cells: pd.DataFrame, taken: Taken) -> pd.DataFrame:
    """Rows of loops other than practice, with response, its key and a rating where it is clear."""
    columns = [*map(str, cells)]
    loops = {name: found[1] for name in columns if (found := LOOP.fullmatch(name))}
    practice = [name for name, loop in loops.items() if PRACTICE.search(loop)]
    is_practice = (cells[practice] != "").any(axis=1)
    is_main = (cells[[x for x in loops if x not in practice]] != "").any(axis=1) & ~is_practice
    if is_main.any():
        named = ", ".join(sorted({loops[name] for name in practice}))
        taken[f"rows of practice (loop {named}) excluded: {{n}}"] += int(is_practice.sum())
        taken["rows outside of all loops excluded: {n}"] += int((~is_main & ~is_practice).sum())
        cells = cells[is_main].drop(columns=practice)
    graded = [x.removesuffix(".corr") for x in columns if x.endswith(".corr") and any(cells[x])]
    if len(graded) > 1:
        taken[f"correct may be {first_few(graded)}: name it, --columns correct=NAME.corr"] += 1
    if len(graded) != 1:
        return cells
    names = {"correct": f"{graded[0]}.corr", "response": f"{graded[0]}.keys"}
    names = {role: x for role, x in names.items() if x in cells and role not in cells}
    others = [x for x in columns if x.endswith(RATED) and not x.startswith(f"{graded[0]}.")]
    rated = {x: cells[x] for x in others if are_numbers(cells[x])}
    for role, name in names.items():
        taken[f"{role} is {name}"] += 1
    return with_answers(cells.assign(**{x: cells[y] for x, y in names.items()}), rated, taken)


def of_jspsych(cells: pd.DataFrame, taken: Taken) -> pd.DataFrame:
    """Rows of decisions, each with the ratings that follow it in the same run."""
    cells = cells.mask(cells == "null", "")
    run = (pd.to_numeric(cells["trial_index"], errors="coerce").diff() < 0).cumsum()
    return joined(cells, run, PARTS, taken)


def of_gorilla(cells: pd.DataFrame, taken: Taken) -> pd.DataFrame:
    """Rows of decisions, each with the ratings on the other screens of its trial."""
    is_end = cells.iloc[:, 0] == "END OF FILE"
    taken["rows END OF FILE excluded: {n}"] += int(is_end.sum())
    unused = [x for x in cells if x == "Confidence" and not any(cells[x])]
    cells = cells[~is_end].drop(columns=unused)
    new = {old: old.lower() for old in ("Response", "Correct") if old.lower() not in cells}
    return joined(cells.rename(columns=new), cells[PERSON] + "|" + cells[TRIAL], ZONES, taken)


RULES: Mapping[str, Callable[[pd.DataFrame, Taken], pd.DataFrame]] = {
    "Qualtrics": of_qualtrics,
    "PsychoPy": of_psychopy,
    "jsPsych": of_jspsych,
    "Gorilla": of_gorilla,
}


def joined(
    cells: pd.DataFrame, within: pd.Series, parts: Sequence[str], taken: Taken
) -> pd.DataFrame:
    """Rows with a value of correct, each with the numbers that follow it before the next one.

    Both are of the same level of `within`; the first of `parts` that is filled says what a row is.
    """
    is_decision = cells.get("correct", pd.Series("", cells.index)) != ""
    if "response" not in cells or not is_decision.any():
        return cells
    number = is_decision.cumsum()
    decisions = cells[is_decision].set_index(number[is_decision])
    own = within[is_decision].set_axis(decisions.index)
    follows = ~is_decision & (within == number.map(own))
    kind = cells[[x for x in parts if x in cells]].replace("", None).bfill(axis=1).iloc[:, 0]
    ratings: dict[str, pd.Series] = {}
    for name, rows in cells[follows].groupby(kind.map(str)):
        rating = rows["response"].set_axis(number[rows.index])
        is_one = are_numbers(rating) and rating.index.is_unique
        if is_one and len(rating) > FEWEST_RATED * len(decisions):
            if rows.get("trial_type", pd.Series("")).str.contains(FROM_ZERO).all():
                rating = rating.map(lambda x: str(int(x) + 1) if x.isdecimal() else x)
                taken[f"responses in rows {name!r} count from 1 instead of 0"] += 1
            ratings[str(name)] = rating.reindex(decisions.index, fill_value="")
    taken["trials, rows with a value of correct: {n}"] += len(decisions)
    return with_answers(decisions, ratings, taken)


def are_numbers(column: pd.Series) -> bool:
    """Whether more than half of the filled cells are numbers, and one is filled."""
    filled = column[~column.isin(NO_RESPONSE)]
    return bool(pd.to_numeric(filled, errors="coerce").notna().mean() > 1 / 2)


def with_answers(
    cells: pd.DataFrame, ratings: Mapping[str, pd.Series], taken: Taken
) -> pd.DataFrame:
    """Trials with the columns stimulus and confidence, as far as they are clear."""
    if {"response", "correct"} <= {*cells}:
        is_silent = cells["response"].isin(NO_RESPONSE)
        taken["trials without a response, so without correctness: {n}"] += int(is_silent.sum())
        answers = {role: cells[role].mask(is_silent, "") for role in ("response", "correct")}
        cells = cells.assign(**answers)
        key = key_column(cells)
        if key not in (None, "stimulus"):
            cells = cells.rename(columns={"stimulus": "stimulus_shown"})
            cells = cells.assign(stimulus=cells[key])
            taken[f"stimulus is {key}, which equals the response where that is correct"] += 1
    has_confidence = any(cells.get("confidence", ""))
    made = {x: own for x, own in ratings.items() if x not in cells}
    sure = [x for x in ratings if len(ratings) == 1 or SURE.search(x)]
    if len(ratings) > 1:
        cells = cells.assign(**made)
    if len(sure) == 1 and not has_confidence:
        (name,) = sure
        cells = cells.assign(confidence=ratings[name])
        origin = f"the response in rows {name!r}" if name in made else name
        taken[f"confidence is {origin}"] += 1
        taken["trials without confidence: {n}"] += int((ratings[name] == "").sum())
    elif ratings and not has_confidence:
        taken[f"confidence may be {first_few([*ratings])}: name it, --columns confidence=NAME"] += 1
    return cells


def key_column(cells: pd.DataFrame) -> str | None:
    """Column with the correct response: it equals the response just where that is correct."""
    is_right = cells["correct"].str.lower().map(TRUTH)
    known = is_right.notna() & (cells["response"] != "")
    same = cells[known].drop(columns=["response", "correct"]).eq(cells["response"][known], axis=0)
    several = cells[known].nunique() > 1
    fits = same.eq(is_right[known], axis=0).all()
    names = [x for x in map(str, same) if not x.endswith(".keys")]
    fitting = [x for x in names if fits[x] and several[x]]
    return "stimulus" if "stimulus" in fitting else next(iter(fitting), None)
