"""The kinds of logs that can be read, and one call for all of them.

Kind and path → DataFrame of trials.
"""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.errors import InputError, nearest
from hmetad.logs.inspect_ai import read_inspect
from hmetad.logs.lm_eval import read_lm_eval
from hmetad.logs.wide import read_trials

__all__ = ["READERS", "Reader", "read_log"]


class Reader(NamedTuple):
    """How a kind of log is read: what it is, and the function."""

    title: str
    read: Callable[..., pd.DataFrame]

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options, in the order of the function."""
        return tuple(inspect.signature(self.read).parameters)[1:]


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "lm-eval": Reader("sample logs of lm-evaluation-harness (--log_samples)", read_lm_eval),
        "inspect": Reader("logs of Inspect, .eval or .json", read_inspect),
        "table": Reader("tables .csv, .tsv, .jsonl or .parquet", read_trials),
    }
)


@check_inputs()
def read_log(kind: str, path: str | Path, **options: Any) -> pd.DataFrame:
    r"""Trials of a log of a kind, ready to be counted.

    Parameters
    ----------
    kind : {"lm-eval", "inspect", "table"}
        As listed in ``READERS``.
    path : str or Path
        File or folder.
    **options
        Those of the kind: see `read_lm_eval`, `read_inspect` and `read_trials`. All have
        ``field``, ``pattern``, ``words`` and ``scale`` for confidence as stated, and ``limits`` for
        how much a file may hold.

    Returns
    -------
    DataFrame
        One row per trial; logs have at least ``task``, ``model``, ``item``, ``target``,
        ``correct`` and ``confidence`` (probability). Attrs: ``files``, ``rejected`` (dict of
        reason to number of values left missing).

    Raises
    ------
    InputError
        If the kind or an option is unknown, or the log cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hmetad.counts.binning import bin_confidence
    >>> from hmetad.counts.correct import count_correct
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "trials.csv")
    ...     _ = file.write_text("correct,sure\n1,85%\n0,20%\n1,60%\n0,70%\n")
    ...     trials = read_log("table", file, columns={"confidence": "sure"}, scale="percent")
    >>> trials.attrs["rejected"]
    {}
    >>> trials["confidence"] = bin_confidence(trials["confidence"], 2)
    >>> count_correct(trials).sel(cell="all").values
    array([[1, 1],
           [1, 1]])
    """
    if kind not in READERS:
        raise InputError("kind", repr(kind), "a kind of log", nearest(str(kind), READERS))
    reader = READERS[kind]
    for option in options:
        if option not in reader.options:
            step = nearest(option, reader.options)
            raise InputError(option, "an option", f"an option of {kind!r}", step)
    return reader.read(path, **options)
