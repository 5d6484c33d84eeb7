"""Cacioli (2026), "Do LLMs know what they know?", as published before its author withdrew it.

Printed tables, deposited counts where there are any, and seed → the analysis and its hypotheses →
table of printed and computed values. Correctness stands in it for the stimulus; simulated models
whose truth is known show what M-ratio then says.
Source: arXiv:2603.25112, first version; what the author put in its place is compared too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.measures.information_bounds import binary_entropy
from hmetad.studies.cacioli2026_deposit import Deposit, analyse_deposit
from hmetad.studies.cacioli2026_deposit_rows import deposit_notes, deposit_rows
from hmetad.studies.cacioli2026_pipeline import (
    bootstrapped,
    equivalence,
    h1,
    h3,
    normal_error,
    pairwise,
    ranks,
    withdrawn,
)
from hmetad.studies.cacioli2026_printed import (
    BASE,
    GEMMA,
    INSTRUCT,
    MISTRAL,
    as_frame,
    by_model,
    cells_as,
    printed,
    quartile_counts,
    tempered,
)
from hmetad.studies.cacioli2026_simulation import Simulation, analyse_simulation
from hmetad.studies.comparison import ComparisonRow, comparison_frame

__all__ = ["KNOWN_DIFFERENCES", "Study", "analyse", "compare"]

HALF_DIGIT = 0.0005
# Of two numbers whose sum, difference or mean is compared.
TWO_DIGITS = 2 * HALF_DIGIT
# One trial more or less in a quartile moves d′ by so much.
ONE_TRIAL = 0.002
SCIENCE = "Science & Technology"
# ½ in each of eight ratings is what print adds; here there are four.
QUARTILE_CORRECTION = 1.0

INVERTED = "rank correlation of AUROC2 and M-ratio"


@dataclass(frozen=True)
class Study:
    """What the printed tables, the deposit and the simulation give.

    Parameters
    ----------
    quartiles : Dataset
        Withdrawn analysis of the quartiles of Table 5, dims dataset, model: `estimates`, limits of
        M and, as ``draws``, its bootstrap.
    deposit : Deposit or None
        None where no path was given.
    simulation : Simulation
    seed : int
    """

    quartiles: xr.Dataset
    deposit: Deposit | None
    simulation: Simulation
    seed: int


def analyse(*, data: str | Path | None = None, seed: int = 1) -> Study:
    """Run the withdrawn analysis on what is printed, what is deposited and what is simulated.

    Parameters
    ----------
    data : str or Path, optional
        The file roc_data.json of the deposit, its folder, or a clone of the repository.
    seed : int, optional

    Returns
    -------
    Study

    Raises
    ------
    InputError
        If there is no deposit at the path.
    """
    of_quartiles, of_deposit, of_trials = np.random.SeedSequence(seed).generate_state(3).tolist()
    deposit = None if data is None else analyse_deposit(data, of_deposit)
    counts = withdrawn(quartile_counts())
    found, draws = bootstrapped(counts, QUARTILE_CORRECTION, seed=of_quartiles)
    quartiles = cells_as(found.assign(draws=draws), "dataset", "model")
    return Study(quartiles, deposit, analyse_simulation(of_trials), seed)


def compare(study: Study) -> pd.DataFrame:
    """Table of everything printed beside ours.

    Parameters
    ----------
    study : Study
        What `analyse` returned.

    Returns
    -------
    DataFrame
        Columns table, row, quantity, printed, ours, tolerance, agrees, note.
    """
    rows = [
        *design_rows(),
        *aggregate_rows(),
        *quartile_rows(study),
        *rank_rows(),
        *binning_rows(),
        *domain_rows(),
        *temperature_rows(),
        *h3_rows(),
        *h4_rows(),
        *instruction_rows(),
        *null_rows(),
    ]
    notes: dict[tuple[str, str, str], str] = dict(KNOWN_DIFFERENCES)
    if study.deposit is not None:
        rows += deposit_rows(study.deposit)
        notes |= deposit_notes(study.deposit)
    return comparison_frame(rows, notes)


def design_rows() -> Iterator[ComparisonRow]:
    """Numbers of trials and questions; accuracy of half of the questions, by Table 5."""
    text = printed()["text"]
    total = len(printed()["models"]) * 8000 * 7
    yield ComparisonRow("3.1", "all", "trials", text["trials"], total, 0)
    yield ComparisonRow("3.1", "TriviaQA", "questions", 5000, sum(text["domain_questions"]), 0)
    shares = by_model_and_quartile().sel(dataset="TriviaQA")
    for model, value in text["accuracy_at_half_coverage"].items():
        ours = shares.sel(model=model).isel(quartile=slice(2, None)).mean().item()
        yield ComparisonRow("5.1", model, "accuracy at half coverage", value, ours, TWO_DIGITS)


def by_model_and_quartile() -> xr.DataArray:
    """Accuracies of Table 5, dims dataset, model, quartile."""
    table = cells_as(quartile_counts(), "dataset", "model").rename(rating="quartile")
    return table.sel(correct="right") / table.sum("correct")


def aggregate_rows() -> Iterator[ComparisonRow]:
    """Table 2 and H1, by the printed numbers alone."""
    table = by_model("aggregate")
    verdicts = h1(table["upper"])
    for model in table["model"].to_numpy().tolist():
        own = table.sel(model=model)
        yield quotient_row("Table 2", model, own)
        verdict = own["h1"].item(), verdicts.sel(model=model).item()
        yield ComparisonRow("4.2", model, "H1, M-ratio below 1", *verdict)


def quartile_rows(study: Study) -> Iterator[ComparisonRow]:
    """Table 5: monotonic, and the withdrawn analysis with two ratings a side."""
    shares = by_model_and_quartile()
    steps = shares.diff("quartile").min("quartile")
    for dataset in shares["dataset"].to_numpy().tolist():
        for model in shares["model"].to_numpy().tolist():
            rises = steps.sel(dataset=dataset, model=model).item() > 0
            words = "strictly monotonic" if rises else "not monotonic"
            row = f"{model} | {dataset}"
            yield ComparisonRow("Table 5", row, "accuracy", "strictly monotonic", words)
    yield from aggregate_by_quartiles(study)


def aggregate_by_quartiles(study: Study) -> Iterator[ComparisonRow]:
    """Table 2 from Table 5: what two ratings a side say of d′, M and H1."""
    shares = by_model_and_quartile()
    table, found = by_model("aggregate"), study.quartiles.sel(dataset="TriviaQA")
    accuracy, verdicts = shares.sel(dataset="TriviaQA").mean("quartile"), h1(found["upper"])
    # As far as three and six ratings are from four in print.
    reach = printed()["binning"]["largest_change"]
    for model in table["model"].to_numpy().tolist():
        own, ours = table.sel(model=model), found.sel(model=model)
        where = ("Tables 2 and 5", model)
        share = accuracy.sel(model=model).item()
        yield ComparisonRow(*where, "accuracy", own["accuracy"].item(), share, TWO_DIGITS)
        d = own["dprime"].item(), ours["dprime"].item()
        yield ComparisonRow(*where, "d′", *d, ONE_TRIAL)
        m = own["m_ratio"].item(), ours["m_ratio"].item()
        yield ComparisonRow(*where, "M-ratio, K = 2", *m, reach)
        verdict = own["h1"].item(), verdicts.sel(model=model).item()
        yield ComparisonRow(*where, "H1, K = 2", *verdict)


def rank_rows() -> Iterator[ComparisonRow]:
    """Table 3: ranks, and whether they are fully inverted."""
    table, places = by_model("aggregate"), by_model("ranks")
    for name in ("auroc2", "m_ratio"):
        found = ranks(table[name])
        for model in table["model"].to_numpy().tolist():
            values = places[name].sel(model=model).item(), found.sel(model=model).item()
            yield ComparisonRow("Table 3", model, f"rank by {name}", *values, 0)
    ranked = table[["auroc2", "m_ratio"]].to_dataframe().rank()
    ours = float(ranked["auroc2"].corr(ranked["m_ratio"]))
    yield ComparisonRow("Table 3", "all", INVERTED, -1.0, ours, 0.005)


def binning_rows() -> Iterator[ComparisonRow]:
    """Table 4: how far M moves with the number of ratings, and whether its order does."""
    table = printed()["binning"]
    m = by_model("binning", "ratings", table["ratings"])["m_ratio"]
    primary = m.sel(ratings=4)
    change = float(abs(m - primary).max())
    yield ComparisonRow(
        "Table 4", "all", "largest change", table["largest_change"], change, TWO_DIGITS
    )
    other = m.rename(model="other")
    before, after = primary - primary.rename(model="other"), m - other
    is_kept = (before * after >= 0).all(["model", "other"])
    for K in (3, 6):
        words = "preserved" if is_kept.sel(ratings=K).item() else "changed"
        yield ComparisonRow("Table 4", f"K = {K}", "order of the models", "preserved", words)


def domain_rows() -> Iterator[ComparisonRow]:
    """Table 6: weakest domains and ranges; two differences in the text."""
    names, text = printed()["domains"]["names"], printed()["text"]
    table = by_model("domains", "domain", names)
    m = table["m_ratio"]
    for model in m["model"].to_numpy().tolist():
        own = table.sel(model=model)
        weakest = names[int(own["m_ratio"].argmin("domain"))]
        yield ComparisonRow("Table 6", model, "weakest domain", own["weakest"].item(), weakest)
        span = float(own["m_ratio"].max() - own["m_ratio"].min())
        yield ComparisonRow("Table 6", model, "range of M-ratio", own["range"].item(), span, 0.005)
    arts = m.sel(domain="Arts & Literature") - m.sel(domain=SCIENCE)
    where = (MISTRAL, "M-ratio, arts − science")
    value = text["mistral_arts_less_science"]
    yield ComparisonRow("4.4", *where, value, arts.sel(model=MISTRAL).item(), TWO_DIGITS)
    science = m.sel(domain=SCIENCE)
    ours = float(science.sel(model=INSTRUCT) - science.sel(model=BASE))
    value = text["science_instruct_less_base"]
    yield ComparisonRow("4.7", "Science & Technology", "M-ratio", value, ours, TWO_DIGITS)


def temperature_rows() -> Iterator[ComparisonRow]:
    """Table 7: M-ratio as the quotient of what is printed beside it."""
    table = tempered()
    for model in table["model"].to_numpy().tolist():
        for t in table["temperature"].to_numpy().tolist():
            yield quotient_row("Table 7", f"{model} | {t}", table.sel(model=model, temperature=t))


def quotient_row(table: str, row: str, own: xr.Dataset) -> ComparisonRow:
    """M-ratio beside meta-d′/d′, as far as three rounded numbers can tell."""
    d, m = own["dprime"].item(), own["m_ratio"].item()
    tolerance = HALF_DIGIT * (1 + (1 + m) / d)
    return ComparisonRow(table, row, "meta-d′/d′", m, own["meta_d"].item() / d, tolerance)


def h3_rows() -> Iterator[ComparisonRow]:
    """H3 by the rules of print, and the range rule beside an interval TOST."""
    table = tempered()
    found, shown = h3(table["dprime"], table["meta_d"]), printed_equivalence()
    tolerances = {"range": TWO_DIGITS, "rho_meta_d": 0.005, "rho_dprime": 0.005}
    names = {
        "range": "range of meta-d′",
        "rho_meta_d": "ρ(meta-d′, T)",
        "rho_dprime": "ρ(d′, T)",
        "stable": "range below .3",
        "relative": "|ρ(meta-d′, T)| < |ρ(d′, T)|",
    }
    for row in as_frame("h3").to_dict("records"):
        own = found.sel(model=row["model"])
        for name, quantity in names.items():
            # Print does not give all of them.
            if row[name] != "":
                ours, limit = own[name].item(), tolerances.get(name, np.nan)
                yield ComparisonRow("4.5", row["model"], quantity, row[name], ours, limit)
        ours = shown["equivalent"].sel(model=row["model"]).item()
        yield ComparisonRow("4.5", row["model"], "interval TOST, ±.3", row["stable"], ours)


def printed_equivalence() -> xr.Dataset:
    """Interval TOST of Table 7; standard errors of meta-d′ are those of M at T = 1, times d′."""
    table, aggregate = tempered(), by_model("aggregate")
    se = normal_error(aggregate["lower"], aggregate["upper"])
    return equivalence(table["meta_d"], se * table["dprime"])


def h4_rows() -> Iterator[ComparisonRow]:
    """H4: intervals that do not overlap, and intervals of differences, which are what it asks."""
    pairs = {(row["left"], row["right"]): row for row in printed_pairs().to_dict("records")}
    apart, near = pairs[MISTRAL, BASE], pairs[MISTRAL, GEMMA]
    verdict = "apart" if apart["overlap"] < 0 else "overlapping"
    yield ComparisonRow("4.6", f"{MISTRAL}, {BASE}", "95 % intervals of M-ratio", "apart", verdict)
    value = printed()["text"]["mistral_gemma_overlap"]
    row = f"{MISTRAL}, {GEMMA}"
    yield ComparisonRow("4.6", row, "overlap", value, float(near["overlap"]), TWO_DIGITS)
    verdict = "significant" if excludes_0(near) else "not significant"
    yield ComparisonRow("4.6", row, "difference of M-ratio", "not significant", verdict)
    verdict = "supported" if any(map(excludes_0, pairs.values())) else "not supported"
    yield ComparisonRow("4.6", "all", "H4, a difference excludes 0", "supported", verdict)


def excludes_0(pair: Mapping[Any, Any]) -> bool:
    """Whether the interval of a difference is on one side of 0."""
    return bool(pair["lower"] > 0 or pair["upper"] < 0)


def printed_pairs() -> pd.DataFrame:
    """Every two models of Table 2."""
    table = by_model("aggregate")
    return pairwise(table["m_ratio"], table["lower"], table["upper"], None)


def instruction_rows() -> Iterator[ComparisonRow]:
    """4.7: the instructed model less its base."""
    table = by_model("aggregate")
    for name, value in printed()["text"]["instruct_less_base"].items():
        ours = float(table[name].sel(model=INSTRUCT) - table[name].sel(model=BASE))
        yield ComparisonRow("4.7", "Llama-3, instruct − base", name, value, ours, TWO_DIGITS)


def null_rows() -> Iterator[ComparisonRow]:
    """Mean of the author's permutations beside the expected bias, (K − 1)/(2N ln 2 H₂)."""
    revised = printed()["revised"]
    df = revised["ratings"] - 1
    for row in as_frame("revised").to_dict("records"):
        bits = 2 * row["trials"] * np.log(2) * binary_entropy(row["accuracy"]).item()
        # Under the null N·I is χ²/(2 ln 2): 4 standard errors of a mean, and the order 1/N².
        tolerance = (4 * np.sqrt(2 * df / revised["permutations"]) + 0.02 * df) / bits
        cell = f"{row['model']} | {row['dataset']}"
        values = row["null_mean"], df / bits
        yield ComparisonRow("revised", cell, "mean of the null of I₂ʳ", *values, float(tolerance))


KNOWN_DIFFERENCES: Mapping[tuple[str, str, str], str] = {
    ("Table 3", "all", INVERTED): (
        "“Fully inverted” would be −1. First and last change places, but Llama-3-Base is above "
        "Llama-3-Instruct by both; and 1.048 and 1.048 are no order."
    ),
    ("4.4", MISTRAL, "M-ratio, arts − science"): (
        "Table 6 has .677 and 1.068. Perhaps the printed value is the mean of the bootstrap, "
        "whose interval is printed with it."
    ),
    ("4.6", f"{MISTRAL}, {GEMMA}", "difference of M-ratio"): (
        "Print asks whether two 95 % intervals overlap, which is stricter than whether that of "
        "the difference excludes 0, as H4 was registered. By the printed intervals it does."
    ),
}
