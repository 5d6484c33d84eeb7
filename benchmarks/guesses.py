"""How well the rules that read an undescribed table do on the sets that have a record.

Folder with the raw files of the Confidence Database → table of facts: guessed right, wrong though
said to be sure, wrong and said to be unsure, or not guessed; and whether the same trials come out.
Each table is guessed as it is, and in disguises: other names of columns, other codes, one column
for response and confidence, no column of the stimulus.

    uv run python benchmarks/guesses.py ../shared/data/confidence_database [--say]
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hmetad import datasets
from hmetad.base.errors import InputError
from hmetad.counts.described import Guess, described_trials, guess_table, guessed_record

Record = Mapping[str, Any]

ROLES = ("subject", "stimulus", "response", "confidence")
FACTS = (*ROLES, "correct", "task", "condition", "group")
FACTS += ("labels", "levels", "quantiles", "leave_out", "missing_codes")
PLAIN = {"Subj_idx": "participant", "Stimulus": "correct_answer", "Response": "choice"}
PLAIN |= {"Confidence": "certainty", "Accuracy": "acc"}


def renamed(table: pd.DataFrame, _: Record) -> pd.DataFrame:
    """Table with names of another laboratory."""
    return table.rename(columns=PLAIN)


def in_words(table: pd.DataFrame, record: Record) -> pd.DataFrame:
    """Table in which stimulus and response are words, and no answer is a word too."""
    words = dict(zip(record["labels"], ("left", "right"), strict=True))
    response = table["Response"].map(words).fillna("timeout")
    return table.assign(Stimulus=table["Stimulus"].map(words), Response=response)


def in_other_codes(table: pd.DataFrame, record: Record) -> pd.DataFrame:
    """Table in which the response has other codes than the stimulus."""
    codes = dict(zip(record["labels"], ("f", "j"), strict=True))
    return table.assign(Response=table["Response"].map(codes))


def with_codes_for_none(table: pd.DataFrame, record: Record) -> pd.DataFrame:
    """Table in which 99 stands for no confidence, and -1 for no response."""
    numbers = table["Confidence"].fillna(999 if "range" in record else 99)
    none = table["Response"].fillna(-99 if not isinstance(record["labels"][0], str) else "none")
    return table.assign(Confidence=numbers, Response=none)


def on_one_scale(table: pd.DataFrame, record: Record) -> pd.DataFrame:
    """Table in which confidence runs from surely one response to surely the other."""
    side = table["Response"].map(dict(zip(record["labels"], (-1, 1), strict=True)))
    least = min(record.get("levels") or record["range"])
    return table.assign(Confidence=side * (table["Confidence"] - least + 1))


def turned_scale(table: pd.DataFrame, _: Record) -> pd.DataFrame:
    """Table in which the smallest number is the most confident."""
    return table.assign(Confidence=1 - table["Confidence"] + table["Confidence"].max())


def without_stimulus(table: pd.DataFrame, _: Record) -> pd.DataFrame:
    """Table with correctness in place of the stimulus."""
    right = (table["Stimulus"] == table["Response"]).astype(int)
    gone = [name for name in ("Accuracy", "Correct") if name in table]
    right = right.where(table["Stimulus"].notna() & table["Response"].notna())
    return table.drop(columns=["Stimulus", *gone]).assign(is_correct=right)


DISGUISES = (renamed, in_words, in_other_codes, with_codes_for_none)
DISGUISES += (on_one_scale, turned_scale, without_stimulus)


def facts(record: Record) -> Record:
    """Facts of a record that can be guessed, by name."""
    found = {name: record["columns"].get(name) or record.get(name) or None for name in FACTS}
    left_out = {name: sorted(values) for name, values in (found["leave_out"] or {}).items()}
    # A condition that is the same in all trials of a person may be called a group.
    found["condition"] = {found["condition"], found.pop("group")} - {None}
    return found | {"leave_out": left_out}


def judge(guesses: Sequence[Guess], record: Record) -> dict[str, str]:
    """Verdict on each fact of one table."""
    sure = {one.fact: one.is_sure for one in guesses}
    guessed = facts(guessed_record(guesses))
    wrong = {True: "wrong, sure", False: "wrong, unsure", None: "not guessed"}
    return {
        name: "right" if guessed[name] == value else wrong[sure.get(name)]
        for name, value in facts(record).items()
    }


def judge_trials(guesses: Sequence[Guess], table: pd.DataFrame, expected: pd.DataFrame) -> str:
    """Whether the trials that the guesses make are those of the record, in whatever codes."""
    is_sure = all(one.is_sure for one in guesses if one.fact not in FACTS[4:8])
    try:
        trials = described_trials(table, guessed_record(guesses))
    except InputError:
        return "refused"
    if not {*ROLES, "correct"} <= {*trials.columns} or len(trials) != len(expected):
        return "wrong, sure" if is_sure else "wrong, unsure"
    ranks = [one["confidence"].round(6).rank(method="dense") for one in (trials, expected)]
    same = np.array_equal(*ranks) and trials["correct"].equals(expected["correct"])
    for role in ("subject", "stimulus"):
        numbers = pd.factorize(trials[role])[0], pd.factorize(expected[role])[0]
        same = same and np.array_equal(*numbers)
    return "right" if same else "wrong, sure" if is_sure else "wrong, unsure"


def main(folder: str, *, say: bool = False) -> None:
    """Print the table, and what is wrong."""
    verdicts, trials = {}, {}
    for name, entry in datasets.registry().items():
        if "record" not in entry:
            continue
        record = entry["record"]
        table = pd.read_csv(Path(folder) / f"data_{name}.csv.gz", low_memory=False)
        guesses = guess_table(table)
        verdicts[name] = judge(guesses, record)
        said = {one.fact: one for one in guesses}
        for fact, verdict in verdicts[name].items():
            if verdict != "right" and say:
                print(name, fact, verdict, said.get(fact), sep=" | ")
        expected = described_trials(table, record)
        trials[name] = {"as it is": judge_trials(guesses, table, expected)}
        for disguise in DISGUISES:
            other = disguise(table, record)
            verdict = judge_trials(guess_table(other), other, expected)
            trials[name][disguise.__name__] = verdict
        for disguise, verdict in trials[name].items():
            if verdict != "right" and say:
                print(name, disguise, verdict, sep=" | ")
    for found in (verdicts, trials):
        rows = pd.DataFrame(found).T.apply(Counter).apply(pd.Series)
        print(rows.fillna(0).astype(int).to_string(), "\n")


if __name__ == "__main__":
    main(sys.argv[1], say="--say" in sys.argv)
