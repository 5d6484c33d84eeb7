"""Public data sets, fetched when they are asked for, checked, and kept.

Name of a data set → DataFrame of trials, or DataArray of counts. The registries ``datasets.toml``
and ``confidence_database.toml`` pin each file by commit and SHA-256; nothing of the data travels
with the package.
"""

import json
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from glob import has_magic
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Console
from rich.progress import track

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, FileError, InstallError, OutputError, nearest
from hmetad.base.notice import Notice, notice_attrs, notice_of
from hmetad.counts.counting import count_correct, count_trials
from hmetad.counts.described import described_trials, guess_table, guessed_record
from hmetad.counts.ratings import bin_confidence
from hmetad.rows.files import scan_table
from hmetad.rows.values import series_with_points

with warnings.catch_warnings():
    # In a notebook without widgets tqdm, which pooch imports, warns of a bar that is not used here.
    warnings.simplefilter("ignore")
    import pooch

__all__ = ["datasets", "describe", "load", "load_trials"]

Reader = Callable[[Sequence[Path]], pd.DataFrame]

GITHUB = "https://github.com"
RAW = "https://raw.githubusercontent.com"
FOLDER, ADDRESS = "HMETAD_DATA", "HMETAD_DATA_URL"
RETRIES = 1
SHOWN = ("title", "observers", "people", "trials", "domain", "table", "licence", "citation")

# Stated confidence crowds near 1: cuts that leave trials in every rating.
MICHAEL_CUTS = (0.85, 0.925, 0.975)
ATLAS_CUTS = (0.80, 0.90, 0.95, 0.99)
MAZANCIEUX_CUTS = (4, 7, 10)


def datasets() -> pd.DataFrame:
    """Data sets that `load` knows; nothing is fetched.

    Returns
    -------
    DataFrame
        One row per data set: ``name``, ``title``, ``observers`` (people or models), ``people`` and
        ``trials`` (their numbers, where people were tested), ``domain`` (perception, memory, ...,
        where it is known), ``table`` (what `load` makes of it), ``licence``, ``citation``,
        ``address`` (the repository at the pinned commit) and ``size`` (bytes to fetch).

    Examples
    --------
    >>> datasets().set_index("name").loc["bang2019", ["observers", "licence"]].tolist()
    ['175 people', 'MIT']
    >>> found = datasets()
    >>> int((found["domain"] == "memory").sum()), len(found)
    (18, 95)
    """
    rows = [
        {
            "name": name,
            **{key: entry.get(key) for key in SHOWN},
            "address": f"{GITHUB}/{entry['repository']}/tree/{entry['commit']}",
            "size": sum(file["bytes"] for file in entry["files"]),
        }
        for name, entry in registry().items()
    ]
    return pd.DataFrame(rows).astype({"people": "Int64", "trials": "Int64"})


@check_inputs()
def load(name: str, *, folder: str | Path | None = None) -> xr.DataArray:
    """Count table, or type-2 table, of a public data set.

    Parameters
    ----------
    name : str
        A name that `datasets` lists.
    folder : str or Path, optional
        Where files are kept once fetched; by default the environment variable HMETAD_DATA, else
        the user's cache folder. A second call reads them from there.

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, stimulus, response, rating) or (cell, correct,
        rating), as `datasets` says. Attrs as those of `count_trials` or `count_correct`, and
        ``dataset``, ``licence``, ``citation`` and ``address``.

    Raises
    ------
    InputError
        If there is no such data set; if a file cannot be fetched, is another than the one pinned,
        or cannot be kept; if a package that reads it is not installed. The message says where to
        put a file that was fetched by hand.

    Notes
    -----
    The environment variable HMETAD_DATA_URL names a mirror of raw.githubusercontent.com.

    Examples
    --------
    >>> load("bang2018")
    Traceback (most recent call last):
    hmetad.InputError: name: Did you mean 'bang2019'? Expected a data set of hmetad, got \
'bang2018'.
    """
    trials, entry = load_trials(name, folder=folder), registry()[name]
    count = count_trials if entry["has_stimulus"] else count_correct
    counts = count(trials, **entry["count"])
    about = datasets().set_index("name").loc[name]
    origin = {key: str(about[key]) for key in ("licence", "citation", "address")}
    return counts.assign_attrs(dataset=name, **origin)


@check_inputs()
def describe(path: str | Path) -> pd.DataFrame:
    r"""Guess what the columns and codes of a table are that nobody described.

    Parameters
    ----------
    path : str or Path
        A table, or a folder or pattern of tables, as in `hmetad.logs.scan_table`.

    Returns
    -------
    DataFrame
        One row per guess: ``fact`` (a role, such as "subject" or "response"; "labels" of stimulus
        and response, and "response_labels" where the response has others; "levels" of confidence
        from the least, or "quantiles" to make of it; "leave_out", rows by column that are no
        trials; "missing_codes" by role; "centre" of a scale of which each response has a side;
        "reversed"; "cut" of a stimulus that is a number; "file", what was taken of the file of a
        program of labs), ``guess``, ``sure`` and ``reason``.

    Raises
    ------
    InputError
        If the table cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "trials.csv")
    ...     _ = file.write_text("subj,stim,resp,conf\n1,L,L,2\n1,R,L,1\n2,R,R,2\n2,L,L,2\n")
    ...     found = describe(file)
    >>> found.loc[found["fact"].isin(["response", "labels"]), "guess"].tolist()
    ['resp', ['L', 'R']]
    """
    table, said = table_of(path)
    guesses = [*(("file", one.message, True, "") for one in said), *guess_table(table)]
    return pd.DataFrame(guesses, columns=["fact", "guess", "sure", "reason"])


def table_of(path: str | Path) -> tuple[pd.DataFrame, list[Notice]]:
    """Tables of a path as one, with numbers for decimal commas; what was taken of lab files."""
    rows = scan_table(path)
    frame = rows.frame()
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    frame = frame.assign(**{str(name): series_with_points(frame[name]) for name in texts})
    return frame, [one for one in rows.notices if one.code == "lab-file"]


@check_inputs()
def load_trials(name: str | Path, *, folder: str | Path | None = None) -> pd.DataFrame:
    """Trials of a public data set, one row each.

    Parameters
    ----------
    name : str or Path
        A name that `datasets` lists; or a file, folder or pattern, such as a set of the Confidence
        Database that is not listed: its columns are then guessed as `describe` says.
    folder
        As for `load`.

    Returns
    -------
    DataFrame
        The columns that `load` counts: those its cells are named by, ``stimulus`` and ``response``
        or ``correct``, and ``confidence``, a rating 1..K. Where confidence was stated as a
        probability, ``confidence`` is that, 0 to 1, and ``rating`` the rating made of it. Further
        columns as published. Of the Confidence Database: ``subject``, ``stimulus``, ``response``,
        ``confidence`` (a rating 1..K, or the number that was given on a finer scale),
        ``correct``, and those of task, condition, group, difficulty and the like that the set has;
        trials of training, catch trials and trials without an answer are left out. Attrs of a file
        that was guessed: ``notices`` (JSON) of the guesses that are not sure.

    Raises
    ------
    InputError
        As `load`; and if a file has no stimulus and no correctness, a single stimulus, or words for
        confidence.
    """
    if name not in registry() and (Path(name).exists() or has_magic(str(name))):
        table, said = table_of(name)
        guesses = guess_table(table)
        trials = described_trials(table, guessed_record(guesses))
        unsure = ", ".join(dict.fromkeys(one.fact for one in guesses if not one.is_sure))
        found = [notice_of("guessed-columns", listed=unsure)] if unsure else []
        trials.attrs |= notice_attrs([*said, *found])
        return trials
    if (name := str(name)) not in registry():
        step = nearest(name, registry())
        raise ChoiceError("name", repr(name), "a data set of hmetad", step)
    paths = fetch(name, folder)
    if name in READERS:
        return READERS[name](paths)
    return described_trials(pd.read_csv(paths[0], low_memory=False), registry()[name]["record"])


@cache
def registry() -> dict[str, dict[str, Any]]:
    """Entries of the registries by name."""
    entries, database = (
        tomllib.loads((files("hmetad") / name).read_text(encoding="utf-8"))
        for name in ("datasets.toml", "confidence_database.toml")
    )
    source, shown = database["source"], ("title", "people", "trials", "domain")
    # Those of the Confidence Database have a record of what stands in their file.
    for name, record in database["sets"].items():
        quantiles = {"quantiles": record.get("quantiles"), "quantiles_within": "subject"}
        scale = {"ratings": len(record["levels"])} if "levels" in record else quantiles
        file = {"path": f"{source['folder']}/data_{name}.csv"}
        entries[name] = {
            **source,
            **{key: record[key] for key in shown if key in record},
            "observers": f"{record['people']} people",
            "table": f"count table by {' and '.join(record['by'])}",
            "count": {"by": record["by"], **scale},
            "citation": "; ".join(one["citation"] for one in (record, source) if "citation" in one),
            "files": [file | {key: record[key] for key in ("bytes", "sha256")}],
            "record": record,
        }
    return entries


def fetch(name: str, folder: str | Path | None) -> list[Path]:
    """Files of a data set in their order, fetched where they are not in the cache."""
    entry, base = registry()[name], os.environ.get(ADDRESS) or RAW
    if not base.startswith(("https://", "http://")):
        raise ChoiceError(ADDRESS, repr(base), "an address that begins with https:// or http://")
    origin = f"{entry['repository']}/{entry['commit']}"
    wanted = {
        f"{name}/{file.get('as', PurePosixPath(file['path']).name)}": file
        for file in entry["files"]
    }
    store = pooch.create(
        path=folder or os.environ.get(FOLDER) or pooch.os_cache("hmetad"),
        base_url="",
        registry={place: f"sha256:{file['sha256']}" for place, file in wanted.items()},
        urls={
            place: f"{base.rstrip('/')}/{quote(f'{origin}/{file["path"]}')}"
            for place, file in wanted.items()
        },
        retry_if_failed=RETRIES,
    )
    is_cached = all((Path(store.abspath) / place).is_file() for place in wanted)
    is_silent = is_cached or not sys.stderr.isatty()
    console = Console(stderr=True)
    shown = track([*wanted], name, console=console, disable=is_silent, transient=True)
    # Keep pooch from reporting each file, and leave its logger as it was.
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        return [fetch_file(store, place) for place in shown]
    finally:
        logger.setLevel(level)


def fetch_file(store: pooch.Pooch, place: str) -> Path:
    """Path of a file that is the one pinned, or an error that says how to put it there."""
    url, path = store.get_url(place), Path(store.abspath) / place
    by_hand = f"Fetch {url} by hand and save it as {path}, or name a mirror in {ADDRESS}."
    allowed = f"the file with SHA-256 {store.registry[place].removeprefix('sha256:')}"
    try:
        return Path(store.fetch(place))
    except OSError as error:
        # Errors of the file system have a number or a class of their own; those of requests none.
        if error.errno is not None or isinstance(error, PermissionError):
            step = f"Name another folder by folder= or {FOLDER}."
            got = f"{path}, which cannot be written ({error.strerror or reason(error)})"
            raise OutputError("folder", got, "a folder to keep data in", step) from error
        got = f"no file from {url} ({reason(error)})"
        if path.is_file():
            got += f", and SHA-256 {pooch.file_hash(str(path))} in {path}"
        raise FileError("data set", got, allowed, by_hand) from error
    except ValueError as error:
        other = re.search("got ([0-9a-f]{64})", str(error))
        got = f"SHA-256 {other[1]} from {url}" if other else reason(error)
        raise FileError("data set", got, allowed, by_hand) from error


def reason(error: Exception) -> str:
    """First words of an error, without the address that is named already."""
    text = (str(error) or type(error).__name__).splitlines()[0]
    return re.split(" (?:for|with) url", text)[0][:200]


def read_bang2019(paths: Sequence[Path]) -> pd.DataFrame:
    """Fine and coarse discrimination, a file each; catch trials (−10) left out."""
    tables = [
        pd.read_csv(path).assign(task=task)
        for path, task in zip(paths, ("fine", "coarse"), strict=True)
    ]
    trials = pd.concat(tables, ignore_index=True)
    trials = trials[trials["Response"] > 0].rename(columns={"Subj_idx": "subject"})
    return trials.rename(columns=str.lower)


def read_mazancieux2020(paths: Sequence[Path]) -> pd.DataFrame:
    """Four tasks; eleven levels of confidence, cut to 0-3, 4-6, 7-9 and 10."""
    trials = pd.read_csv(paths[0])
    names = {"Subj_idx": "subject", "Stimulus": "stimulus", "Response": "response", "Task": "task"}
    cuts = MAZANCIEUX_CUTS
    rating = bin_confidence(trials["Confidence"], 4, method="edges", edges=cuts)
    return trials.rename(columns=names).assign(confidence=rating)


def read_hellmann2023(paths: Sequence[Path]) -> pd.DataFrame:
    """Masked orientations from R's own format."""
    if find_spec("rdata") is None:
        step = 'In the clone: pip install ".[r]".'
        raise InstallError("hellmann2023", "no package rdata", "rdata, which reads R's files", step)
    frame = import_module("rdata").read_rda(paths[0])["MaskOri"]
    return tidy_hellmann2023(frame)


def tidy_hellmann2023(frame: pd.DataFrame) -> pd.DataFrame:
    """Masked orientations with the response that was made, and ratings from 1."""
    trials = frame.apply(lambda column: pd.to_numeric(column.astype(str))).reset_index(drop=True)
    whole = ["participant", "stimulus", "correct", "rating", "trialNo"]
    trials = trials.astype(dict.fromkeys(whole, np.int64)).rename(
        columns={"participant": "subject"}
    )
    is_right = trials.pop("correct") == 1
    response = np.where(is_right, trials["stimulus"], 90 - trials["stimulus"])
    return trials.assign(response=response, confidence=trials.pop("rating") + 1)


def read_metadpy_simulated(paths: Sequence[Path]) -> pd.DataFrame:
    """Simulated trials under the names of this package."""
    names = {"Stimuli": "stimulus", "Responses": "response"}
    trials = pd.read_csv(paths[0]).rename(columns=names)
    return trials.rename(columns=str.lower)


def read_michael2026(paths: Sequence[Path]) -> pd.DataFrame:
    """Language models in the two tasks with two alternatives: answers, and the questions."""
    answers = pd.read_csv(paths[0], dtype={"question_id": str})
    answers["confidence"] = answers["stated_confidence"]
    questions = pd.read_csv(paths[1], dtype={"Question ID": str})
    columns = ["llm", "task", "question_id", "stimulus", "response", "correct", "confidence"]
    # The stimulus is the right answer; the response is that, or its opposite where wrong.
    rows = answers[answers["qset"] == "boolq_valid"]
    truth = rows["question_id"].map(questions.set_index("Question ID")["Correct Answer"])
    truth = truth.astype(bool)
    boolq = rows.assign(stimulus=truth, response=np.where(rows["correct"], truth, ~truth))
    # The stimulus is whether the answer shown is right. Stated is the probability that it is: above
    # one half the model says so, and ties are left out.
    rows = answers[(answers["qset"] == "halu_eval_qa") & (answers["confidence"] != 0.5)]
    truth, response = rows["question_id"].str.endswith("_r"), rows["confidence"] > 0.5
    halueval = rows.assign(stimulus=truth, response=response, correct=truth == response)
    halueval["confidence"] = np.maximum(rows["confidence"], 1 - rows["confidence"])
    sets = [boolq.assign(task="BoolQ"), halueval.assign(task="HaluEval")]
    trials = pd.concat(sets, ignore_index=True)
    rating = 1 + np.searchsorted(MICHAEL_CUTS, trials["confidence"], side="right")
    return trials[columns].assign(rating=rating)


def read_cacioli2026_atlas(paths: Sequence[Path]) -> pd.DataFrame:
    """Language models in six domains; one model was deposited twice."""
    trials = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    trials = trials.drop_duplicates(["model", "item_id", "domain"], ignore_index=True)
    trials = trials.rename(columns={"is_correct": "correct"})
    said = trials["confidence"] / 100
    rating = 1 + np.searchsorted(ATLAS_CUTS, said, side="right")
    return trials.assign(confidence=said, rating=rating)


def read_cacioli2026_battery(paths: Sequence[Path]) -> pd.DataFrame:
    """Language models in six tasks; the rating is 1, and 1 more for KEEP and for BET."""
    tables = [
        pd.read_csv(path)
        .rename(columns={"is_correct": "correct", "item_id": "item"})
        .assign(model=path.stem, task=path.parent.name)
        for path in paths
    ]
    columns = ["model", "task", "item", "correct", "keep_withdraw", "bet_nobet"]
    trials = pd.concat([table[columns].astype({"item": str}) for table in tables])
    kept, bet = trials["keep_withdraw"] == "KEEP", trials["bet_nobet"] == "BET"
    confidence = 1 + kept.astype(np.int64) + bet.astype(np.int64)
    return trials.assign(confidence=confidence).reset_index(drop=True)


def read_cacioli2026_calibration(paths: Sequence[Path]) -> pd.DataFrame:
    """Right and wrong answers by interval of log probability, as rows again."""
    published = json.loads(paths[0].read_text(encoding="utf-8"))
    tables = [
        pd.DataFrame(
            {"correct": is_right, "confidence": np.repeat(np.arange(1, 21), cell[counts])}
        ).assign(model=model, dataset=dataset, temperature=float(temperature))
        for model, sets in published.items()
        for dataset, temperatures in sets.items()
        for temperature, cell in temperatures.items()
        for is_right, counts in ((True, "signal_counts"), (False, "noise_counts"))
    ]
    return pd.concat(tables, ignore_index=True)


READERS: dict[str, Reader] = {
    reader.__name__.removeprefix("read_"): reader
    for reader in (
        *(read_bang2019, read_cacioli2026_atlas, read_cacioli2026_battery),
        *(read_cacioli2026_calibration, read_hellmann2023, read_mazancieux2020),
        *(read_metadpy_simulated, read_michael2026),
    )
}
