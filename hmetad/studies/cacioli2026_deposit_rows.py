"""Cacioli (2026) against the author's deposit: what its bins give, beside print.

Deposit → comparison rows, and why they differ.
"""

from collections.abc import Iterator

import numpy as np

from hmetad.studies.cacioli2026_deposit import Deposit
from hmetad.studies.cacioli2026_pipeline import PASSED, h3
from hmetad.studies.cacioli2026_printed import MISTRAL, as_frame, by_model, printed, tempered
from hmetad.studies.comparison import ComparisonRow

__all__ = ["deposit_notes", "deposit_rows"]

# As far as deposited bins may move a value before it counts as different: of the revised measures;
# of d′ and M, whose edges then are not those of print.
BY_BINS, BY_EDGES, BY_FEWER_RATINGS = 0.01, 0.05, 0.1
ONE_BIN = (
    "The highest of the deposited bins holds about half of this model's trials, or more: no edge "
    "is left above the cut, and M comes from the lower side alone."
)
CUT = "No bin has an edge near the median: the cut leaves a third of the trials below, not half."
TIED = (
    "Bins of equal width tie what eight quantiles tell apart: the fullest of them holds {top:.0f} "
    "% of the trials."
)
LINE = (
    "The zROC is no line, or is sampled elsewhere: its points are those of bins of equal width, "
    "here fitted by maximum likelihood."
)
D_A = (
    "Print has the value of d·√((1 + s²)/2), {formula:.3f} here; d_a divides d by the root mean "
    "square of the two SDs, d·√(2/(1 + 1/s²))."
)
REVISED = {
    "accuracy": ("accuracy", "accuracy", 0.0005),
    "auroc2": ("auroc2", "AUROC2", BY_BINS),
    "meta_i2r": ("less_null", "I₂ʳ less its null", BY_BINS),
    "slope": ("s", "slope of the zROC", BY_EDGES),
    "d_a": ("d_a", "d_a", BY_EDGES),
}


def deposit_rows(deposit: Deposit) -> list[ComparisonRow]:
    """Everything that the deposit gives, beside print."""
    return [*roc_rows(deposit), *revised_rows(deposit), *withdrawn_rows(deposit)]


def deposit_notes(deposit: Deposit) -> dict[tuple[str, str, str], str]:
    """Why what the deposited bins give differs, where it does, by table, row and quantity."""
    return {**bin_notes(deposit), **roc_notes(deposit)}


def revised_rows(deposit: Deposit) -> Iterator[ComparisonRow]:
    """What the author put in its place, in eight quantile bins, beside the deposited bins."""
    measures = deposit.measures
    for row in as_frame("revised").to_dict("records"):
        own = measures.sel(dataset=row["dataset"], model=row["model"], temperature=1.0)
        cell = f"{row['model']} | {row['dataset']}"
        for name, (ours, quantity, tolerance) in REVISED.items():
            values = row[name], own[ours].item()
            yield ComparisonRow("revised", cell, quantity, *values, tolerance)
    table = by_model("revised_temperature", "temperature", printed()["temperatures"])
    for model in table["model"].to_numpy().tolist():
        for t in printed()["temperatures"][:-1]:
            own = measures.sel(dataset="TriviaQA", model=model, temperature=t)
            values = table["accuracy"].sel(model=model, temperature=t).item(), own["accuracy"]
            where = ("revised", f"{model} | {t}", "accuracy")
            yield ComparisonRow(*where, values[0], values[1].item(), REVISED["accuracy"][2])


def withdrawn_rows(deposit: Deposit) -> Iterator[ComparisonRow]:
    """The withdrawn analysis, with the edges that the deposited bins have."""
    table, found = tempered(), deposit.withdrawn
    verdicts = h3(found["dprime"], found["meta_d"])["supported"]
    h3_printed = as_frame("h3").set_index("model")
    for model in table["model"].to_numpy().tolist():
        for t in table["temperature"].to_numpy().tolist():
            at = {"model": model, "temperature": t}
            values = table["dprime"].sel(at).item(), found["dprime"].sel(at).item()
            yield ComparisonRow("deposit", f"{model} | {t}", "d′", *values, BY_EDGES)
            values = table["m_ratio"].sel(at).item(), found["m_ratio"].sel(at).item()
            yield ComparisonRow("deposit", f"{model} | {t}", "M-ratio", *values, BY_FEWER_RATINGS)
        said = h3_printed.loc[model, ["stable", "relative"]]
        verdict = PASSED if (said == PASSED).all() else "failed"
        ours = verdicts.sel(model=model).item()
        yield ComparisonRow("deposit", model, "H3, both rules", verdict, ours)


def roc_rows(deposit: Deposit) -> Iterator[ComparisonRow]:
    """4.1: d_a and s that print quotes from the unequal-variance ROC of the same trials."""
    roc = deposit.measures.sel(dataset="TriviaQA", temperature=1.0)
    text = printed()["text"]
    for model, value in text["d_a"].items():
        ours = roc["d_a"].sel(model=model).item()
        yield ComparisonRow("4.1", model, "d_a", value, ours, 0.005)
    ours = roc["s"].sel(model=MISTRAL).item()
    yield ComparisonRow("4.1", MISTRAL, "s", text["mistral_s"], ours, 0.01)


def bin_notes(deposit: Deposit) -> dict[tuple[str, str, str], str]:
    """Why what the deposited bins give differs, where it does."""
    notes: dict[tuple[str, str, str], str] = {}
    at_one = deposit.measures.sel(temperature=1.0)
    for row in as_frame("revised").to_dict("records"):
        cell = f"{row['model']} | {row['dataset']}"
        own = at_one.sel(dataset=row["dataset"], model=row["model"])
        tied = TIED.format(top=100 * own["top"].item())
        notes |= {("revised", cell, REVISED[name][1]): tied for name in ("auroc2", "meta_i2r")}
        notes |= {("revised", cell, REVISED[name][1]): LINE for name in ("slope", "d_a")}
    one_bin = deposit.withdrawn["ratings_above"] == 1
    for model in deposit.withdrawn["model"].to_numpy()[one_bin.to_numpy()].tolist():
        notes |= {
            ("deposit", f"{model} | {t}", "M-ratio"): ONE_BIN for t in printed()["temperatures"]
        }
        notes["deposit", model, "H3, both rules"] = ONE_BIN
    return notes | {("deposit", f"{MISTRAL} | {t}", "d′"): CUT for t in printed()["temperatures"]}


def roc_notes(deposit: Deposit) -> dict[tuple[str, str, str], str]:
    """Which formula gives the d_a that print quotes."""
    notes: dict[tuple[str, str, str], str] = {}
    for model in printed()["text"]["d_a"]:
        own = deposit.measures.sel(dataset="TriviaQA", model=model, temperature=1.0)
        s, d_a = own["s"].item(), own["d_a"].item()
        distance = d_a / np.sqrt(2 / (1 + 1 / s**2))
        notes["4.1", model, "d_a"] = D_A.format(formula=distance * np.sqrt((1 + s**2) / 2))
    return notes
