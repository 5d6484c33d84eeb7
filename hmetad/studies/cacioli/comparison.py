"""What the paper prints, computed.

Results of the study → table of printed numbers beside ours.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.measures.ideal_observers import binary_entropy
from hmetad.studies.cacioli.deposit import Deposit
from hmetad.studies.cacioli.hypotheses import h1, h3, normal_error, pairwise, ranks
from hmetad.studies.cacioli.study import Study
from hmetad.studies.cacioli.tables import NAME, cells_as, quartile_counts
from hmetad.studies.comparison import by_row, compare_with_print
from hmetad.studies.printed import arrays_of, file_of

__all__ = ["accuracy_of_quartiles", "by_temperature", "compare", "surer_half", "table_7"]

MISTRAL, BASE = "Mistral-Instruct", "Llama-3-Base"
INSTRUCT, GEMMA = "Llama-3-Instruct", "Gemma-2-Instruct"
HALF_DIGIT = 0.0005


def compare(study: Study) -> pd.DataFrame:
    """Table of everything printed beside ours."""
    ours = {**of_quartiles(study), **of_models(), **of_pairs(), **of_variants()}
    numbers = {}
    if study.deposit is not None:
        ours |= of_deposit(study.deposit)
        numbers = numbers_of_notes(study.deposit)
    return compare_with_print(NAME, ours, numbers)


def accuracy_of_quartiles() -> xr.DataArray:
    """Accuracies of Table 5, dims dataset, model, quartile."""
    table = cells_as(quartile_counts(), "dataset", "model").rename(rating="quartile")
    return table.sel(correct="right") / table.sum("correct")


def of_quartiles(study: Study) -> dict[tuple[str, str], Any]:
    """Numbers of trials; Table 5, and what it says of Table 2 with two ratings a side."""
    shares, found = accuracy_of_quartiles(), study.quartiles.sel(dataset="TriviaQA")
    of_trivia = shares.sel(dataset="TriviaQA")
    is_rising = (shares.diff("quartile") > 0).all("quartile")
    words = xr.where(is_rising, "strictly monotonic", "not monotonic")
    return {
        ("3.1", "trials"): {"all": shares.sizes["model"] * 8000 * 7},
        ("3.1", "questions"): {"TriviaQA": sum(file_of(NAME)["domain_questions"])},
        ("5.1", "accuracy at half coverage"): surer_half(of_trivia),
        ("Table 5", "accuracy"): {
            f"{model} | {dataset}": words.sel(model=model, dataset=dataset).item()
            for dataset, model in product(*(words[dim].to_numpy() for dim in words.dims))
        },
        ("Tables 2 and 5", "accuracy"): of_trivia.mean("quartile"),
        ("Tables 2 and 5", "d′"): found["dprime"],
        ("Tables 2 and 5", "M-ratio, K = 2"): found["m_ratio"],
        ("Tables 2 and 5", "H1, K = 2"): h1(found["upper"]),
    }


def surer_half(shares: xr.DataArray) -> xr.DataArray:
    """Accuracy of the two upper quartiles of confidence."""
    return shares.isel(quartile=slice(2, None)).mean("quartile")


def of_models() -> dict[tuple[str, str], Any]:
    """Tables 2, 3 and 7, H1 and H3, by the printed numbers alone; expected bias of I₂ʳ."""
    table, by_t = arrays_of(NAME, "aggregate", "model"), table_7()
    both = table[["auroc2", "m_ratio"]]
    ranked, rising = ranks(both), both.to_dataframe().rank()
    found = h3(by_t)
    names = {
        "range of meta-d′": "range",
        "ρ(meta-d′, T)": "rho_meta_d",
        "ρ(d′, T)": "rho_dprime",
        "range below .3": "stable",
        "|ρ(meta-d′, T)| < |ρ(d′, T)|": "relative",
        "interval TOST, ±.3": "equivalent",
    }
    return {
        ("Table 2", "meta-d′/d′"): quotient(table),
        ("4.2", "H1, M-ratio below 1"): h1(table["upper"]),
        ("Table 3", "rank by auroc2"): ranked["auroc2"].to_dict(),
        ("Table 3", "rank by m_ratio"): ranked["m_ratio"].to_dict(),
        ("Table 3", "rank correlation of AUROC2 and M-ratio"): {
            "all": rising["auroc2"].corr(rising["m_ratio"])
        },
        ("Table 7", "meta-d′/d′"): quotient(by_t),
        **{("4.5", quantity): found[name] for quantity, name in names.items()},
        ("revised", "mean of the null of I₂ʳ"): expected_null(),
    }


def by_temperature(table: str) -> xr.Dataset:
    """A table of the study over models and temperatures."""
    return arrays_of(NAME, table, "model", "temperature")


def quotient(table: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """M as meta-d′/d′, and how far it is known from three rounded numbers."""
    reach = HALF_DIGIT * (1 + (1 + table["m_ratio"]) / table["dprime"])
    return table["meta_d"] / table["dprime"], reach


def table_7() -> xr.Dataset:
    """Table 7, with standard errors of meta-d′: those of M at T = 1, times d′."""
    table, by_t = arrays_of(NAME, "aggregate", "model"), by_temperature("temperature")
    return by_t.assign(meta_d_se=normal_error(table) * by_t["dprime"])


def expected_null() -> tuple[xr.DataArray, xr.DataArray]:
    """Expected bias of I₂ʳ, (K − 1)/(2N ln 2 H₂), and what chance and its order leave open."""
    revised, table = file_of(NAME)["revised"], arrays_of(NAME, "revised", "dataset", "model")
    df = revised["ratings"] - 1
    entropy = binary_entropy(table["accuracy"].to_numpy())
    bits = (2 * table["trials"] * np.log(2) * entropy).transpose("model", "dataset")
    # Under the null N·I is χ²/(2 ln 2): 4 standard errors of a mean, and the order 1/N².
    return df / bits, (4 * np.sqrt(2 * df / revised["permutations"]) + 0.02 * df) / bits


def of_pairs() -> dict[tuple[str, str], Any]:
    """H4, and the instructed model less its base (4.7), by the printed numbers alone."""
    table = arrays_of(NAME, "aggregate", "model")
    pairs = pairwise(table)
    pairs.index = pd.Index(pairs["left"] + ", " + pairs["right"])
    apart, near = f"{MISTRAL}, {BASE}", f"{MISTRAL}, {GEMMA}"
    is_different = (pairs["lower"] > 0) | (pairs["upper"] < 0)
    words = {True: "significant", False: "not significant"}
    overlap = "apart" if pairs["overlap"][apart] < 0 else "overlapping"
    estimated = table[["dprime", "meta_d", "m_ratio"]]
    gained = estimated.sel(model=INSTRUCT) - estimated.sel(model=BASE)
    return {
        ("4.6", "95 % intervals of M-ratio"): {apart: overlap},
        ("4.6", "overlap"): {near: pairs["overlap"][near]},
        ("4.6", "difference of M-ratio"): {near: words[is_different[near]]},
        ("4.6", "H4, a difference excludes 0"): {
            "all": "supported" if is_different.any() else "not supported"
        },
        **{("4.7", str(name)): {"Llama-3, instruct − base": x} for name, x in gained.items()},
    }


def of_variants() -> dict[tuple[str, str], Any]:
    """Tables 4 and 6: how far M moves with the number of ratings, and with domains."""
    m = arrays_of(NAME, "binning", "model", "ratings")["m_ratio"]
    primary, other = m.sel(ratings=4), {"model": "other"}
    before, after = primary - primary.rename(other), m - m.rename(other)
    is_kept = (before * after >= 0).all(["model", "other"])
    order = {f"K = {K}": "preserved" if is_kept.sel(ratings=K) else "changed" for K in (3, 6)}
    domains = arrays_of(NAME, "domains", "model", "domain")["m_ratio"]
    science, arts = (domains.sel(domain=x) for x in ("Science & Technology", "Arts & Literature"))
    gained = science.sel(model=INSTRUCT) - science.sel(model=BASE)
    return {
        ("Table 4", "largest change"): {"all": abs(m - primary).max()},
        ("Table 4", "order of the models"): order,
        ("Table 6", "weakest domain"): domains.idxmin("domain"),
        ("Table 6", "range of M-ratio"): domains.max("domain") - domains.min("domain"),
        ("4.4", "M-ratio, arts − science"): arts - science,
        ("4.7", "M-ratio"): {"Science & Technology": gained},
    }


def of_deposit(deposit: Deposit) -> dict[tuple[str, str], Any]:
    """What the deposited bins give: d_a and s of the ROC, the revised measures, d′, M and H3."""
    at_one = deposit.measures.sel(temperature=1.0).transpose("model", "dataset")
    others = deposit.measures.sel(dataset="TriviaQA", temperature=[0.3, 0.5, 0.7])
    found, roc = deposit.withdrawn, at_one.sel(dataset="TriviaQA")
    return {
        ("4.1", "d_a"): roc["d_a"],
        ("4.1", "s"): roc["s"],
        ("revised", "accuracy"): by_row(at_one["accuracy"]) | by_row(others["accuracy"]),
        ("revised", "AUROC2"): at_one["auroc2"],
        ("revised", "I₂ʳ less its null"): at_one["less_null"],
        ("revised", "slope of the zROC"): at_one["s"],
        ("revised", "d_a"): at_one["d_a"],
        ("deposit", "d′"): found["dprime"],
        ("deposit", "M-ratio"): found["m_ratio"],
        ("deposit", "H3, both rules"): h3(found)["supported"],
    }


def numbers_of_notes(deposit: Deposit) -> dict[str, xr.DataArray]:
    """Share of the fullest bin, and the d_a of print's formula, for the notes on differences."""
    at_one = deposit.measures.sel(temperature=1.0).transpose("model", "dataset")
    roc = at_one.sel(dataset="TriviaQA")
    s, distance = roc["s"], roc["d_a"] / np.sqrt(2 / (1 + 1 / roc["s"] ** 2))
    return {"top": 100 * at_one["top"], "formula": distance * np.sqrt((1 + s**2) / 2)}
