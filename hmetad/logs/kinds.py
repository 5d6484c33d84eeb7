"""The kinds of logs that can be read: their names, their files, and the functions that read them.

Path → the kind of log that it is. The command line reads this too, so nothing heavy is imported.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from hmetad.base.errors import FileError
from hmetad.base.files import LABS, TEXTS, found_in, is_table, no_file_error


class Reader(NamedTuple):
    """How a kind of log is read.

    Parameters
    ----------
    title : str
        What it is, for a list of the kinds.
    function : str
        Public name in `hmetad.logs` of the function that reads it.
    files : tuple of str
        Patterns of the names of its files.
    options : tuple of str
        Names of its options.
    """

    title: str
    function: str
    files: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def read(self) -> Any:
        """The function, imported when it is first used."""
        return getattr(import_module("hmetad.logs"), self.function)


DATE = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"

# Options that several kinds have.
STATED = ("threshold", "grades", "field", "pattern", "words", "scale", "executor")
LOG = ("task", *STATED, "limits")
TABLE = ("columns", "path_columns", "delimiter", "decimal", "missing_codes")

READERS: Mapping[str, Reader] = {
    "lm-eval": Reader(
        "sample logs of lm-evaluation-harness (--log_samples)",
        "read_lm_eval",
        ("samples_*.jsonl",),
        (*LOG, "runs", "answer_filter", "metric", "normalise", "answer_pattern"),
    ),
    "inspect": Reader(
        "logs of Inspect, .eval or .json",
        "read_inspect",
        # Of JSON only the names that Inspect gives its logs; its lists of logs are JSON too.
        ("*.eval", f"{DATE}T*.json"),
        (*LOG, "scorer", "source"),
    ),
    "lighteval": Reader(
        "details of lighteval (--save-details), .parquet",
        "read_lighteval",
        (f"details_*_{DATE}t*.parquet",),
        ("task", *STATED, "runs", "metric", "normalise", "answer_pattern"),
    ),
    "helm": Reader(
        "runs of HELM: a folder with scenario_state.json",
        "read_helm",
        ("scenario_state.json",),
        (*LOG, "metric", "answer_pattern"),
    ),
    "matlab": Reader(
        "Matlab files of HMeta-d, .mat",
        "read_matlab",
        ("*.mat",),
        ("columns", "limits", "executor"),
    ),
    "table": Reader(
        "tables .csv, .tsv, .jsonl or .parquet, and files of laboratories",
        "read_trials",
        ("*.csv", "*.tsv", "*.jsonl", "*.parquet", "*.csv.*", "*.tsv.*", "*.jsonl.*"),
        (*TABLE, *STATED),
    ),
}


def known_kinds() -> str:
    """The kinds as a sentence for a message.

    Examples
    --------
    >>> known_kinds()[:72]
    'Kinds are lm-eval: sample logs of lm-evaluation-harness (--log_samples);'
    """
    return f"Kinds are {'; '.join(f'{kind}: {one.title}' for kind, one in READERS.items())}."


def recognise_kind(path: Path) -> str:
    """Kind of a log by the name of the file, or of the files in a folder.

    Parameters
    ----------
    path : Path
        A file, or a folder with logs at any depth.

    Returns
    -------
    str
        A name of ``READERS``. Where patterns of several kinds fit a name, the longest counts.

    Raises
    ------
    InputError
        If there is no such file, no kind has files of that name, or a folder holds several kinds.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("samples_sums_2026-01-31T10-00-00.jsonl", "results.json"):
    ...         Path(folder, name).touch()
    ...     recognise_kind(Path(folder))
    'lm-eval'
    """
    if path.is_dir():
        kinds = {kind_of_name(file.name) for file in path.rglob("*") if file.is_file()}
        # Tables of any kind stand beside logs.
        found = [kind for kind in READERS if kind in kinds - {"table"}]
        got = f"a folder with logs of {' and '.join(found)}" if found else "a folder without logs"
    elif path.is_file():
        is_of_lab = path.suffix.lower() in LABS and path.suffix != ".json"
        kind = kind_of_name(path.name) or ("table" if is_of_lab else None)
        found = [kind] if kind else []
        got = "a file whose name does not say what it is"
    elif has_magic(str(path)) and (files := found_in(path)):
        found = ["table"] if {kind_of_name(file.name) for file in files} == {"table"} else []
        got = "a pattern of files that are no tables"
    else:
        raise no_file_error(path, "a log of one kind")
    if len(found) != 1:
        step = f"Name the kind. {known_kinds()}"
        raise FileError(str(path), got, "a log of one kind", step)
    return found[0]


def files_of_kind(path: Path, kind: str, allowed: str) -> list[Path]:
    """The file itself, or the files of a kind in a folder, sorted.

    Parameters
    ----------
    path : Path
        A file, or a folder with files at any depth.
    kind : str
        A name of ``READERS``.
    allowed : str
        What a file should be, for messages.

    Returns
    -------
    list of Path
        At least one.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "scenario_state.json").touch()
    ...     [file.name for file in files_of_kind(Path(folder), "helm", "a run of HELM")]
    ['scenario_state.json']
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise no_file_error(path, f"{allowed}, or a folder of them")
    there = sorted(file for file in path.rglob("*") if file.is_file())
    files = [file for file in there if kind_of_name(file.name) == kind]
    if kind == "table" and not files:
        files = [file for file in there if is_table(file.name, TEXTS)]
    if not files:
        raise FileError(str(path), "a folder without logs", f"{allowed}, or a folder of them")
    return files


def kind_of_name(name: str) -> str | None:
    """Kind whose pattern fits the name of a file, the longest if several fit; else None.

    Examples
    --------
    >>> kind_of_name("samples_arc.jsonl"), kind_of_name("notes.md")
    ('lm-eval', None)
    """
    fitting = [
        (len(pattern), kind)
        for kind, reader in READERS.items()
        for pattern in reader.files
        if fnmatchcase(name.lower(), pattern.lower())
    ]
    return max(fitting)[1] if fitting else None
