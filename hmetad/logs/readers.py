"""One call for all kinds of logs.

Kind and path → DataFrame of trials.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.errors import InputError, nearest
from hmetad.logs.kinds import READERS, recognise_kind

__all__ = ["read_log"]


@check_inputs()
def read_log(kind: str, path: str | Path, **options: Any) -> pd.DataFrame:
    r"""Trials of a log of a kind, ready to be counted.

    Parameters
    ----------
    kind : str
        ``"lm-eval"``, ``"inspect"``, ``"lighteval"``, ``"helm"``, ``"promptfoo"``, ``"matlab"``,
        ``"table"``; or ``"auto"``, which goes by the names of the files.
    path : str or Path
        File or folder.
    **options
        Those of the kind: see the function of each, such as `read_lm_eval` and `read_trials`. All
        have ``limits`` for how much a file may hold, and ``executor`` for what reads the files of a
        folder: an executor of `concurrent.futures` or a `distributed.Client`, whose processes see
        the files under the same path. All but Matlab's have ``field``, ``pattern``, ``words`` and
        ``scale`` for confidence as stated.

    Returns
    -------
    DataFrame
        One row per trial; logs have at least ``task``, ``model``, ``item``, ``target``,
        ``correct`` and ``confidence`` (probability). Attrs: ``files``, ``rejected`` (dict of
        reason to number of values left missing).

    Raises
    ------
    InputError
        If the kind or an option is unknown, the names of the files do not say which kind it is,
        or the log cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hmetad.counts.ratings import bin_confidence
    >>> from hmetad.counts.counting import count_correct
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
    if kind not in READERS and kind != "auto":
        kinds = ["auto", *READERS]
        raise InputError("kind", repr(kind), ", ".join(map(repr, kinds)), nearest(kind, kinds))
    kind = recognise_kind(Path(path)) if kind == "auto" else kind
    reader = READERS[kind]
    for option in options:
        if option not in reader.options:
            got, allowed = f"an option that {kind!r} does not have", f"an option of {kind!r}"
            raise InputError(option, got, allowed, nearest(option, reader.options))
    return reader.read(path, **options)
