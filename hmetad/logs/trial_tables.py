"""Tables of trials, under the names that count_trials expects.

File, folder or pattern of tables → DataFrame with the columns of all of them and of their paths,
correctness as truth values and confidence as probabilities.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, ColumnError, FileError
from hmetad.base.files import TABLES, TEXTS, files_of
from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.counts.columns import listed, renamed_rows, without_codes
from hmetad.counts.noticed import add_notices
from hmetad.logs.choices import Choices, Decimal, make_choices
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.stated import bare_numbers, bounds, record_stated, statement_frame, unread_notices
from hmetad.logs.statements import is_missing, read_statement
from hmetad.logs.trials import ABSTAINED, of_each, silence_notices, verdict
from hmetad.rows.duplicates import file_notices, row_notices
from hmetad.rows.files import read_table
from hmetad.rows.labs import lab_notices
from hmetad.rows.tables import rows_of
from hmetad.rows.texts import DELIMITERS, sniffed_delimiter, text_suffix, usual_delimiter
from hmetad.rows.values import GAPS, NUMBER, are_gaps, safe_text, series_with_points

# What to do where a column is missing.
COLUMNS = ("Name it with columns=.", "Name it with --columns.")
# A name in braces, in a pattern of paths.
HOLE = re.compile(r"\{([^{}]*)\}")
# Columns that are read here, whatever the case of their names.
READ = ("correct", "confidence")
CODED = (*READ, "stimulus", "response")
# "-3e-05", as programs write 0.00003 beside others with a comma: no thousands, and no point.
POWER = re.compile(r"\s*[+-]?[0-9]+[eE][+-]?[0-9]+\s*")
# Column of the names of several files.
FILE = "file"
# Types of columns of integers and truth values, with gaps.
WITH_GAPS = {"i": "Int64", "b": "boolean"}
# So many numbers from 0 to 1 are no percentages.
FEWEST_SMALL = 10


@check_inputs()
def read_trials(path: str | Path, **options: Any) -> pd.DataFrame:
    r"""Trials of a plain table, renamed, and with confidence as a probability.

    Parameters
    ----------
    path : str or Path
        A table, as in `read_table`; or a folder with tables at any depth, or a pattern of names
        (``"runs/*.csv"``, without those that begin with "." or "_"), which are put together, each
        with all columns: columns that a file lacks are missing there, with a notice.
    **options
        Those of all kinds, as in `read_log`, where ``threshold``, ``grades`` and stated confidence
        are about the columns "correct" and "confidence" (which stay as they are without them),
        and:

        - ``columns``: names as they should be, and the names in the table, in any case where one
          column fits: ``{"correct": "acc"}``. The other columns keep theirs, but for the case of
          ``correct`` and ``confidence``;
        - ``path_columns``: columns that stand in the names of files, and of folders before them:
          ``"{model}_{set}.csv"``, ``"{model}/{set}.csv"``. A file that fits in no way, or in
          several, is refused;
        - ``delimiter``: what separates the columns of a text: "comma", "semicolon", "tab", "bar" or
          "space", or the sign. By default that of the suffix, or one that splits the first lines
          alike. With it, or where it is found, files may also end in .txt or .dat;
        - ``decimal``: "comma" or "point", how numbers in a text are written. By default with a
          point; but where the columns are not separated by commas, a column in which every filled
          value is a number with one decimal comma is read so, -3e-05 next to them too ("1,234"
          alone may be 1234, and stays text);
        - ``missing_codes``: values of ``correct``, ``confidence``, ``stimulus`` and ``response``
          that stand for a missing one, such as 999.

    Returns
    -------
    DataFrame
        One row per trial; of several files with a column ``file``, their names. Attrs: ``files``,
        ``rejected`` (values left missing, per reason), ``delimiter`` where it is not that of the
        suffix, ``decimal_commas`` (columns in which they were found), ``undecided_commas`` (those
        that stay text, though some values look so), ``scale`` and ``examples`` where confidence was
        parsed, and ``notices`` (JSON), if there are any: files with the same bytes, and rows that
        are the same in all columns; those of `parse_confidence`; or of a column that stays as it
        is, ``"confidence-text"``, ``"mixed-scales"`` and ``"negative-confidence"``.

    Raises
    ------
    InputError
        If a table cannot be read, tables have no column in common, a column is missing, or options
        are unusable.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "trials.csv")
    ...     _ = file.write_text("acc,sure\n1,85%\n0,dunno\n")
    ...     names = {"correct": "acc", "confidence": "sure"}
    ...     trials = read_trials(file, columns=names, scale="percent")
    >>> trials["confidence"].tolist(), trials.attrs["rejected"]
    ([0.85, nan], {'confidence: not understood': 1})
    """
    choices = make_choices("table", options)
    place, allowed = Path(path), (*TABLES, *TEXTS)
    if place.is_dir():
        files = files_of_kind(place, "table", f"a table {', '.join(allowed)}")
    else:
        files = [file for file, _ in files_of(place, allowed)]
    table, found, missing = joined_tables(files, choices)
    trials = renamed_rows(rows_of(table), choices.columns or {}, *READ).frame()
    if listed("missing_codes", choices.missing_codes):
        coded = {role: role for role in CODED if role in trials}
        trials = without_codes(rows_of(trials), choices.missing_codes, coded).frame()
    attrs: dict[Any, Any] = {"files": [*map(safe_text, files)], "rejected": {}, **found}
    if choices.grades is not None or choices.threshold is not None:
        if "correct" not in trials:
            raise ColumnError("grades", "no column 'correct'", "a column to grade", *COLUMNS)
        scores = (None if is_missing(score) else score for score in trials["correct"].tolist())
        rule = (choices.threshold, choices.grades, "column 'correct'")
        grades = [verdict(score, *rule) for score in scores]
        correct = pd.Series([grade for grade, _ in grades], trials.index, dtype="boolean")
        silent = [why == ABSTAINED for _, why in grades]
        trials = trials.assign(correct=correct)
        is_named = ABSTAINED in (choices.grades or {}).values() and ABSTAINED not in trials
        if any(silent) or is_named:
            trials[ABSTAINED] = silent
        missing = [*missing, *silence_notices(silent)]
        whys = (f"correct: {why}" for _, why in grades if why not in ("", ABSTAINED))
        attrs["rejected"] = dict(Counter(whys))
    if choices.wording is not None:
        if "confidence" not in trials:
            raise ColumnError("confidence", "no such column", "a column to parse", *COLUMNS)
        said = trials["confidence"]
        refuse_spoiled(trials, choices)
        statements = [read_statement(value, choices.wording) for value in said]
        stated = statement_frame(statements, scale=choices.scale, index=said.index)
        trials, attrs = trials.assign(confidence=stated["confidence"]), record_stated(attrs, stated)
    elif "confidence" in trials:
        attrs = add_notices(attrs, unread_notices(trials["confidence"]))
    trials.attrs = add_notices(attrs, [*missing, *file_notices(files), *row_notices(table)])
    return trials


def refuse_spoiled(trials: pd.DataFrame, choices: Choices) -> None:
    """Refuse to read numbers as those of a larger scale where a model's are all from 0 to 1."""
    scale, values = choices.scale, bare_numbers(trials["confidence"])
    if scale is None or bounds(scale, values)[1] <= 1:
        return
    numbers = pd.Series(values, trials.index).dropna()
    whose = next((name for name in ("model", "llm", FILE) if name in trials), None)
    models = pd.Series("the table", trials.index) if whose is None else trials[whose].astype(str)
    small = [
        name
        for name, own in numbers.groupby(models.loc[numbers.index])
        if len(own) >= FEWEST_SMALL and own.between(0, 1).all() and (own % 1 > 0).any()
    ]
    if small:
        ways = ("scale='probability'", "--scale probability")
        steps = (f"Read these rows separately, with {way}." for way in ways)
        got = f"{scale!r}, where all numbers of {first_few(small)} are from 0 to 1"
        raise ChoiceError("scale", got, "the scale of all that is read", *steps)


def joined_tables(
    files: Sequence[Path], choices: Choices
) -> tuple[pd.DataFrame, dict[str, Any], list[Notice]]:
    """Tables below each other with the columns of their paths, and how they are written.

    That is ``delimiter`` (those that are not of the suffixes), ``decimal_commas`` (columns in which
    they were found) and ``undecided_commas`` (columns that stay text, though some values look so).
    """
    template, decimal = choices.path_columns, choices.decimal
    places = [{} if template is None else columns_of_path(template, file) for file in files]
    named = {"confidence": choices.words, "correct": choices.grades}
    columns = {**dict(zip(named, named, strict=True)), **(choices.columns or {})}
    # A word that the caller named is no missing value.
    texts = [columns[role] for role, words in named.items() if are_gaps(words)]
    read = partial(one_table, choices.delimiter, decimal, texts)
    tables, signs = zip(*of_each(read, files, choices.executor), strict=True)
    said = ", ".join(sorted(name for name, sign in DELIMITERS.items() if sign in signs))
    found: dict[str, Any] = {"delimiter": said} if said else {}
    table, missing = below_each_other(files, tables, places)
    labs = [one.attrs["lab"] for one in tables if "lab" in one.attrs]
    missing = [*lab_notices(labs), *missing]
    between = {sign or usual_delimiter(file) for file, sign in zip(files, signs, strict=True)}
    if decimal is None and not between & {",", None}:
        table, commas = with_decimal_commas(table, texts)
        found |= commas
    return table, found, missing


def one_table(
    delimiter: str | None, decimal: Decimal | None, texts: Sequence[str], file: Path
) -> tuple[pd.DataFrame, str | None]:
    """A table, and its delimiter where it is not that of the suffix."""
    sign = sniffed_delimiter(file, delimiter)
    if decimal is not None and text_suffix(file) is None:
        step = "Other formats say themselves what is a number."
        raise ChoiceError("decimal", f"{decimal!r}, for {file}", "a text table", step)
    point: Literal[".", ","] = "," if decimal == "comma" else "."
    return read_table(file, text=texts, delimiter=sign, decimal=point), sign


def with_decimal_commas(
    table: pd.DataFrame, texts: Sequence[str] = ()
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Table with the numbers that decimal commas stand for, and the columns that have commas.

    Parameters
    ----------
    table : DataFrame
        Of a file whose columns are not separated by commas; it is not changed.
    texts : sequence of str
        Columns that stay text.

    Returns
    -------
    table : DataFrame
        Columns of text in which every filled value is a number with one decimal comma are numbers,
        and some may be whole numbers times a power of ten, such as ``-3e-05``. Others stay as they
        are, and so do those in which every comma may part thousands.
    columns : dict of str to list of str
        Under ``decimal_commas`` those that were read so; under ``undecided_commas`` those that stay
        text, though some values look like numbers with a decimal comma. Neither where there are
        none.

    Examples
    --------
    >>> table = pd.DataFrame({"sure": ["0,85", None], "rt": ["1,234", "2,345"], "at": ["1,5", "2"]})
    >>> numbers, columns = with_decimal_commas(table)
    >>> numbers["sure"].tolist(), columns
    ([0.85, nan], {'decimal_commas': ['sure'], 'undecided_commas': ['rt', 'at']})
    """
    numbers, undecided = {}, []
    for name in table.columns:
        if name in texts or pd.api.types.is_numeric_dtype(table[name]):
            continue
        known = table[name].where(~table[name].isin(GAPS))
        values = [value for value in known.dropna().tolist() if isinstance(value, str)]
        commas = {one for one in values if NUMBER.fullmatch(one)}
        are_texts = len(values) == known.notna().sum()
        are_numbers = are_texts and all(x in commas or POWER.fullmatch(x) for x in values)
        new = series_with_points(known) if are_numbers else known
        if pd.api.types.is_numeric_dtype(new):
            numbers[name] = new
        elif commas:
            undecided.append(name)
    found = {"decimal_commas": [*numbers], "undecided_commas": undecided}
    return table.assign(**numbers), {key: names for key, names in found.items() if names}


def below_each_other(
    files: Sequence[Path], tables: Sequence[pd.DataFrame], places: Sequence[Mapping[str, str]]
) -> tuple[pd.DataFrame, list[Notice]]:
    """Tables as one that has all their columns; of several with the names of their files.

    A notice names columns that not all of them have.
    """
    if len(files) > 1:
        named = zip(files, places, strict=True)
        places = [{**place, FILE: safe_text(file)} for file, place in named]
    shared = {*tables[0]}.intersection(*tables)
    whole = []
    for file, table, place in zip(files, tables, places, strict=True):
        for name in (name for name in place if name in table):
            got = f"a column {name!r} in {file}"
            raise FileError("path", got, "no column of that name", "Rename it.")
        if not {*table} & {*tables[0]}:
            got = f"no column that {files[0]} has"
            raise FileError(str(file), got, "tables of the same trials", "Read it by itself.")
        # Where other files lack them, whole numbers and truth values keep their kind.
        own = {name: table[name].dtype.kind for name in table if name not in shared}
        gaps = {name: WITH_GAPS[kind] for name, kind in own.items() if kind in WITH_GAPS}
        whole.append(table.astype(gaps).assign(**place))
    if len(files) == 1:
        return whole[0], []
    joined = pd.concat(whole, ignore_index=True)
    first = [name for name in joined if name not in places[0]]
    some = [repr(name) for name in first if name not in shared]
    found = [notice_of("columns-of-some-files", columns=first_few(some), all=len(files))]
    return joined[[*first, *places[0]]], found if some else []


def columns_of_path(template: str, path: Path) -> dict[str, str]:
    """What the end of a path has for the names in braces, if it fits in one way.

    Examples
    --------
    >>> columns_of_path("{model}/{set}.csv", Path("runs/gpt-4/math.csv"))
    {'model': 'gpt-4', 'set': 'math'}
    """
    names: list[str] = HOLE.findall(template)
    if not names or len({*names}) < len(names) or not all(name.isidentifier() for name in names):
        allowed = "a path with different names in braces, such as {model}_{set}.csv"
        raise FileError("path_columns", repr(template), allowed)
    found = []
    parts = [re.escape(part) for part in HOLE.split(template)[::2]]
    for filled in ("([^/]+?)", "([^/]+)"):
        # The first takes as little as it can, the other as much: only one way leaves them alike.
        match = re.fullmatch(f"(?:.*/)?{filled.join(parts)}", safe_text(path.as_posix()), re.DOTALL)
        if match is None:
            got = f"{template!r}, for {path}"
            raise FileError("path_columns", got, "a pattern that all files fit")
        found.append(dict(zip(names, match.groups(), strict=True)))
    if found[0] != found[1]:
        got = f"{template!r}, which {path} fits as {found[0]} and as {found[1]}"
        raise FileError("path_columns", got, "a pattern that each file fits in one way")
    return found[0]
