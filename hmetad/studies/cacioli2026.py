"""Cacioli (2026), "Do LLMs know what they know?", as published before its author withdrew it.

Printed tables, deposited counts where there are any, and seed → the withdrawn analysis and its
hypotheses → what is printed, computed. It uses correctness as the stimulus; what M-ratio then is
for a known M is shown. What the author put in its place is compared too.
Source: arXiv:2603.25112, first version; github.com/synthiumjp/sdt_calibration (MIT).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.measures.ideal_observers import binary_entropy
from hmetad.measures.information import meta_information
from hmetad.measures.type2 import auroc2
from hmetad.mle.uvsdt import uvsdt
from hmetad.studies import withdrawn
from hmetad.studies.comparison import Ours, arrays_of, by_row, cells_as, file_of, rows_of
from hmetad.studies.withdrawn import h1, h3, pairwise, withdrawn_counts

NAME = "cacioli2026"
MISTRAL, BASE = "Mistral-Instruct", "Llama-3-Base"
INSTRUCT, GEMMA = "Llama-3-Instruct", "Gemma-2-Instruct"
HALF_DIGIT = 0.0005
# ½ in each of eight ratings is what print adds; here there are four.
QUARTILE_CORRECTION = 1.0
# Printed tables: of models on TriviaQA at T = 1; and with further dims.
in_print = partial(arrays_of, NAME)
by_temperature = partial(arrays_of, NAME, "temperature", "model", "temperature")
revised_by_temperature = partial(arrays_of, NAME, "revised_temperature", "model", "temperature")


@dataclass(frozen=True)
class Deposit:
    """The deposited counts and what comes of them."""

    # Type-2 table of 56 cells: model, dataset, temperature.
    tables: xr.DataArray
    # By dataset, model, temperature: accuracy, trials, auroc2; meta_i2r as it is, less_null (less
    # the mean of permutations) and reduced (2θ̂ − θ̄); top, the share of the fullest bin; s, d_a and
    # a_z of the unequal-variance ROC.
    measures: xr.Dataset
    # Of TriviaQA, by model, temperature: what `bootstrap` gives; below, the share of trials
    # below the cut at T = 1; ratings_above, how many ratings the bins leave above it.
    withdrawn: xr.Dataset


@dataclass(frozen=True)
class Study:
    """What the printed tables and the deposit give."""

    # Withdrawn analysis of the quartiles of Table 5, by dataset, model: `estimates`, limits of M,
    # and draws, its bootstrap.
    quartiles: xr.Dataset
    # None where no path was given.
    deposit: Deposit | None
    seed: int


def analyse(*, data: str | Path | None = None, seed: int = 1) -> Study:
    """Run the withdrawn analysis on what is printed and what is deposited.

    `data` is the file roc_data.json of the deposit, its folder, or a clone of the repository.
    """
    of_quartiles, of_deposit = np.random.SeedSequence(seed).generate_state(2).tolist()
    deposit = None if data is None else analyse_deposit(data, of_deposit)
    counts = withdrawn_counts(quartile_counts())
    found, draws = withdrawn.bootstrap(counts, QUARTILE_CORRECTION, seed=of_quartiles)
    quartiles = cells_as(found.assign(draws=draws), "dataset", "model")
    return Study(quartiles, deposit, seed)


def quartile_counts() -> xr.DataArray:
    """Right and wrong answers by quartile of confidence at T = 1: Table 5 in whole trials.

    Shares of three digits give the number of right answers of 1,250 or 750 to a trial.
    """
    shares = in_print("quartiles", "dataset", "model", "quartile")["accuracy"]
    size = in_print("revised", "dataset", "model")["trials"] // 4
    right = (shares * size).round().astype(np.int64)
    both = xr.concat([size - right, right], "correct").stack(cell=("dataset", "model"))
    coords = {name: both[name].to_numpy() for name in ("dataset", "model")}
    values = both.transpose("cell", "correct", "quartile").to_numpy()
    return withdrawn.table_of(values, **coords)


def analyse_deposit(data: str | Path, seed: int) -> Deposit:
    """Measure the deposited counts, and run the withdrawn analysis on them."""
    tables = withdrawn.read_deposit(data)
    of_measures, *of_models = np.random.SeedSequence(seed).generate_state(5).tolist()
    by_model = [
        at_temperatures(of_model(tables, model), own).assign_coords(model=model)
        for model, own in zip(file_of(NAME)["models"], of_models, strict=True)
    ]
    pipeline = xr.concat(by_model, "model", combine_attrs="drop_conflicts")
    return Deposit(tables, measures_of(tables, of_measures), pipeline)


def of_model(tables: xr.DataArray, model: str, dataset: str = "TriviaQA") -> xr.DataArray:
    """Cells of a model and data set."""
    return tables.sel(cell=(tables["model"] == model) & (tables["dataset"] == dataset))


def measures_of(tables: xr.DataArray, seed: int) -> xr.Dataset:
    """Measures of confidence that need no stimulus, per dataset, model and temperature."""
    null, bias = np.random.SeedSequence(seed).generate_state(2).tolist()
    n = file_of(NAME)["revised"]["permutations"]
    plain = meta_information(tables, permutations=n, seed=null)
    trials = tables.sum(["correct", "rating"])
    result = xr.Dataset(
        {
            "accuracy": plain["share_right"],
            "trials": trials,
            "auroc2": auroc2(tables),
            "meta_i2r": plain["meta_i2r"],
            "less_null": plain["meta_i2r_excess"],
            "reduced": meta_information(tables, debias=n, seed=bias)["meta_i2r"],
            "top": tables.sum("correct").max("rating") / trials,
            **uvsdt(withdrawn_counts(tables))[["s", "d_a", "a_z"]],
        }
    )
    return cells_as(result, "dataset", "model", "temperature")


def at_temperatures(tables: xr.DataArray, seed: int) -> xr.Dataset:
    """Withdrawn analysis of a model, the edges of T = 1 held over temperatures."""
    own = tables.sel(cell=tables["temperature"].isin(file_of(NAME)["labels"]["temperature"]))
    reference = own.sel(cell=own["temperature"] == 1.0).isel(cell=0).sum("correct").to_numpy()
    edges, cut = withdrawn.nearest_edges(reference, withdrawn.RATINGS)
    counts = withdrawn_counts(withdrawn.merge_bins(own, edges), cut)
    # Ratings that the bins cannot give are empty, and ½ in each of them would be a pretence.
    found, _ = withdrawn.bootstrap(counts, "loglinear", seed=seed)
    below = reference.cumsum()[edges[cut - 1] - 1] / reference.sum()
    result = found.assign(below=below, ratings_above=len(edges) + 1 - cut)
    return cells_as(result, "temperature").drop_vars("dataset")


# --- print beside ours --------------------------------------------------------------------------


def recompute(study: Study) -> Ours:
    """All that is printed, by table and quantity."""
    ours = {**of_quartiles(study), **of_models(), **of_pairs(), **of_variants()}
    return ours | (of_deposit(study.deposit) if study.deposit is not None else {})


def accuracy_of_quartiles() -> xr.DataArray:
    """Accuracies of Table 5, dims dataset, model, quartile."""
    table = cells_as(quartile_counts(), "dataset", "model").rename(rating="quartile")
    return table.sel(correct="right") / table.sum("correct")


def surer_half(shares: xr.DataArray) -> xr.DataArray:
    """Accuracy of the two upper quartiles of confidence."""
    return shares.isel(quartile=slice(2, None)).mean("quartile")


def of_quartiles(study: Study) -> dict[tuple[str, str], Any]:
    """Numbers of trials; Table 5, and what it says of Table 2 with two ratings a side."""
    shares, found = accuracy_of_quartiles(), study.quartiles.sel(dataset="TriviaQA")
    of_trivia = shares.sel(dataset="TriviaQA")
    is_rising = (shares.diff("quartile") > 0).all("quartile")
    rising = xr.where(is_rising, "strictly monotonic", "not monotonic").to_series()
    return {
        ("3.1", "trials"): {"all": shares.sizes["model"] * 8000 * 7},
        ("3.1", "questions"): {"TriviaQA": sum(file_of(NAME)["domain_questions"])},
        ("5.1", "accuracy at half coverage"): surer_half(of_trivia),
        ("Table 5", "accuracy"): {f"{model} | {name}": x for (name, model), x in rising.items()},
        ("Tables 2 and 5", "accuracy"): of_trivia.mean("quartile"),
        ("Tables 2 and 5", "d′"): found["dprime"],
        ("Tables 2 and 5", "M-ratio, K = 2"): found["m_ratio"],
        ("Tables 2 and 5", "H1, K = 2"): h1(found["upper"]),
    }


def of_models() -> dict[tuple[str, str], Any]:
    """Tables 2, 3 and 7, H1 and H3, by the printed numbers alone; expected bias of I₂ʳ."""
    table, by_t = in_print("aggregate", "model"), table_7()
    both = table[["auroc2", "m_ratio"]]
    ranked, rising = withdrawn.ranks(both), both.to_dataframe().rank()
    found = h3(by_t)
    return {
        ("Table 2", "meta-d′/d′"): quotient(table),
        ("4.2", "H1, M-ratio below 1"): h1(table["upper"]),
        **{("Table 3", f"rank by {name}"): ranked[name].to_dict() for name in ranked},
        ("Table 3", "rank correlation of AUROC2 and M-ratio"): {
            "all": rising["auroc2"].corr(rising["m_ratio"])
        },
        ("Table 7", "meta-d′/d′"): quotient(by_t),
        ("4.5", "range of meta-d′"): found["range"],
        ("4.5", "ρ(meta-d′, T)"): found["rho_meta_d"],
        ("4.5", "ρ(d′, T)"): found["rho_dprime"],
        ("4.5", "range below .3"): found["stable"],
        ("4.5", "|ρ(meta-d′, T)| < |ρ(d′, T)|"): found["relative"],
        ("4.5", "interval TOST, ±.3"): found["equivalent"],
        ("revised", "mean of the null of I₂ʳ"): expected_null(),
    }


def quotient(table: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """M as meta-d′/d′, and how far it is known from three rounded numbers."""
    reach = HALF_DIGIT * (1 + (1 + table["m_ratio"]) / table["dprime"])
    return table["meta_d"] / table["dprime"], reach


def table_7() -> xr.Dataset:
    """Table 7, with standard errors of meta-d′: those of M at T = 1, times d′."""
    se, by_t = withdrawn.normal_error(in_print("aggregate", "model")), by_temperature()
    return by_t.assign(meta_d_se=se * by_t["dprime"])


def expected_null() -> tuple[xr.DataArray, xr.DataArray]:
    """Expected bias of I₂ʳ, (K − 1)/(2N ln 2 H₂), and what chance and its order leave open."""
    revised, table = file_of(NAME)["revised"], in_print("revised", "dataset", "model")
    df = revised["ratings"] - 1
    entropy = binary_entropy(table["accuracy"].to_numpy())
    bits = (2 * table["trials"] * np.log(2) * entropy).transpose("model", "dataset")
    # Under the null N·I is χ²/(2 ln 2): 4 standard errors of a mean, and the order 1/N².
    return df / bits, (4 * np.sqrt(2 * df / revised["permutations"]) + 0.02 * df) / bits


def of_pairs() -> dict[tuple[str, str], Any]:
    """H4, and the instructed model less its base (4.7), by the printed numbers alone."""
    table = in_print("aggregate", "model")
    pairs = pairwise(table)
    pairs.index = pd.Index(pairs["left"] + ", " + pairs["right"])
    apart, near = f"{MISTRAL}, {BASE}", f"{MISTRAL}, {GEMMA}"
    is_different = (pairs["lower"] > 0) | (pairs["upper"] < 0)
    estimated = table[["dprime", "meta_d", "m_ratio"]]
    gained = estimated.sel(model=INSTRUCT) - estimated.sel(model=BASE)
    intervals = "apart" if pairs["overlap"][apart] < 0 else "overlapping"
    difference = "significant" if is_different[near] else "not significant"
    verdict = "supported" if is_different.any() else "not supported"
    return {
        ("4.6", "95 % intervals of M-ratio"): {apart: intervals},
        ("4.6", "overlap"): {near: pairs["overlap"][near]},
        ("4.6", "difference of M-ratio"): {near: difference},
        ("4.6", "H4, a difference excludes 0"): {"all": verdict},
        **{("4.7", str(name)): {"Llama-3, instruct − base": x} for name, x in gained.items()},
    }


def of_variants() -> dict[tuple[str, str], Any]:
    """Tables 4 and 6: how far M moves with the number of ratings, and with domains."""
    m = in_print("binning", "model", "ratings")["m_ratio"]
    primary, other = m.sel(ratings=4), {"model": "other"}
    before, after = primary - primary.rename(other), m - m.rename(other)
    is_kept = (before * after >= 0).all(["model", "other"])
    domains = in_print("domains", "model", "domain")["m_ratio"]
    science, arts = (domains.sel(domain=x) for x in ("Science & Technology", "Arts & Literature"))
    gained = science.sel(model=INSTRUCT) - science.sel(model=BASE)
    return {
        ("Table 4", "largest change"): {"all": abs(m - primary).max()},
        ("Table 4", "order of the models"): {
            f"K = {K}": "preserved" if is_kept.sel(ratings=K) else "changed" for K in (3, 6)
        },
        ("Table 6", "weakest domain"): domains.idxmin("domain"),
        ("Table 6", "range of M-ratio"): domains.max("domain") - domains.min("domain"),
        ("4.4", "M-ratio, arts − science"): arts - science,
        ("4.7", "M-ratio"): {"Science & Technology": gained},
    }


def of_deposit(deposit: Deposit) -> dict[tuple[str, str], Any]:
    """What the deposited bins give: d_a and s of the ROC, the revised measures, d′, M and H3.

    For the notes on differences, the share of the fullest bin and the d_a of print's formula.
    """
    at_one = deposit.measures.sel(temperature=1.0).transpose("model", "dataset")
    others = deposit.measures.sel(dataset="TriviaQA", temperature=[0.3, 0.5, 0.7])
    found, roc = deposit.withdrawn, at_one.sel(dataset="TriviaQA")
    s, distance = roc["s"], roc["d_a"] / np.sqrt(2 / (1 + 1 / roc["s"] ** 2))
    return {
        ("4.1", "d_a"): roc["d_a"],
        ("4.1", "s"): s,
        ("revised", "accuracy"): by_row(at_one["accuracy"]) | by_row(others["accuracy"]),
        ("revised", "AUROC2"): at_one["auroc2"],
        ("revised", "I₂ʳ less its null"): at_one["less_null"],
        ("revised", "slope of the zROC"): at_one["s"],
        ("revised", "d_a"): at_one["d_a"],
        ("deposit", "d′"): found["dprime"],
        ("deposit", "M-ratio"): found["m_ratio"],
        ("deposit", "H3, both rules"): h3(found)["supported"],
        ("note", "top"): 100 * at_one["top"],
        ("note", "formula"): distance * np.sqrt((1 + s**2) / 2),
    }


# --- the report ---------------------------------------------------------------------------------


def contents(study: Study, _: pd.DataFrame) -> dict[str, Any]:
    """What the report shows."""
    deposit = study.deposit
    return {
        "deposit": deposit,
        "deposited": "not given" if deposit is None else f"{withdrawn.BINS} bins",
        "withdrawn": study.quartiles,
        "quartiles": quartile_frame(study),
        **ranking(),
        "chance": withdrawn.chance_of_relative_rule(),
        **temperatures_in_print(),
        "h3": rows_of(h3(table_7()), "model"),
        "pairs": pair_frame(study),
        "domains": domain_frame(),
        **({} if deposit is None else deposit_contents(deposit)),
        **known_truth(),
        "seed": study.seed,
    }


def quartile_frame(study: Study) -> pd.DataFrame:
    """Withdrawn analysis of Table 5 with two ratings a side; what abstaining gains."""
    shares, found = accuracy_of_quartiles(), study.quartiles
    accuracy, half = shares.mean("quartile"), surer_half(shares)
    values = {"accuracy": accuracy, "half": half, "gain": half - accuracy}
    values |= {"m": m_and_limits(found), "h1": h1(found["upper"])}
    frame = rows_of(found[["dprime"]].assign(values), "dataset", "model")
    return frame.assign(model=frame["model"] + ", " + frame["dataset"])


def m_and_limits(found: xr.Dataset) -> xr.DataArray:
    """M and its limits in words."""
    numbers = (found[name] for name in ("m_ratio", "lower", "upper"))
    words: xr.DataArray = xr.apply_ufunc(in_words, *numbers, vectorize=True)
    return words


def in_words(value: float, lower: float, upper: float) -> str:
    """Value and interval with true minus signs."""
    return f"{value:.3f} [{lower:.3f}, {upper:.3f}]".replace("-", "−")


def ranking() -> dict[str, Any]:
    """Ranks of the models by four measures, a line per model, and in words."""
    table = in_print("aggregate", "model")
    revised = revised_by_temperature().sel(temperature=1.0, drop=True)
    columns = {
        "AUROC2": table["auroc2"],
        "AUROC2, revised": revised["auroc2"],
        "I₂ʳ, revised": revised["meta_i2r"],
        "M-ratio, withdrawn": table["m_ratio"],
    }
    placed = withdrawn.ranks(xr.Dataset(columns))
    said = "; ".join(
        f"{name}: {', '.join(f'{model} {rank}' for model, rank in placed[name].items())}"
        for name in columns
    )
    # Equal ranks would hide each other.
    apart = placed.add((np.arange(len(placed)) - 1.5) * 0.05, axis="index")
    lines = apart.rename_axis("model").reset_index().melt("model", var_name="measure")
    return {"ranks": lines, "ranks_said": said}


def temperatures_in_print() -> dict[str, Any]:
    """d′ and meta-d′ of the withdrawn analysis over temperature, and I₂ʳ of the revised one."""
    table, told = by_temperature(), revised_by_temperature()["meta_i2r"]
    d, meta_d = table["dprime"], table["meta_d"]
    panels = {"d′ (withdrawn)": d, "meta-d′ (withdrawn)": meta_d, "I₂ʳ (revised)": told}
    said = ends({"d′": d, "meta-d′": meta_d, "I₂ʳ": told})
    return {"temperature": over_temperature(panels), "temperature_said": said}


def over_temperature(panels: Mapping[str, xr.DataArray]) -> pd.DataFrame:
    """Values of several measures over temperature, by model."""
    values = xr.Dataset(dict(panels)).to_dataarray("measure").to_dataset(name="value")
    return rows_of(values, "measure", "model", "temperature")


def ends(measures: Mapping[str, xr.DataArray]) -> str:
    """First and last values over temperature of every model, in words."""
    said = [
        [f"{name} {a:.2f} to {b:.2f}" for a, b in values.isel(temperature=[0, -1]).to_numpy()]
        for name, values in measures.items()
    ]
    by_model = zip(file_of(NAME)["models"], zip(*said, strict=True), strict=True)
    return "; ".join(f"{model}: {', '.join(parts)}" for model, parts in by_model)


def pair_frame(study: Study) -> pd.DataFrame:
    """Every two models: overlap and difference, of print and of the quartiles."""
    printed = pairwise(in_print("aggregate", "model"))
    ours = pairwise(study.quartiles.sel(dataset="TriviaQA"))
    said = {
        name: [in_words(*row) for row in frame[["difference", "lower", "upper"]].to_numpy()]
        for name, frame in (("print", printed), ("quartiles", ours))
    }
    return printed.assign(models=printed["left"] + " − " + printed["right"], **said)


def domain_frame() -> pd.DataFrame:
    """M of the withdrawn and I₂ʳ of the revised analysis by domain, and their rank correlation."""
    m, told = (
        in_print(table, "model", "domain")[name].to_series().unstack(sort=False)
        for table, name in (("domains", "m_ratio"), ("revised_domains", "meta_i2r"))
    )
    both = m.map("{:.3f}; ".format) + told.map("{:.3f}".format)
    rho = m.rank(axis="columns").corrwith(told.rank(axis="columns"), axis="columns")
    return both.assign(ρ=rho).rename_axis("Model").reset_index()


def deposit_contents(deposit: Deposit) -> dict[str, Any]:
    """Tables of the deposited counts, and measures over all temperatures."""
    found, own = deposit.withdrawn, deposit.measures.sel(dataset="TriviaQA")
    names = {"dprime": "dprime_printed", "m_ratio": "m_printed"}
    printed = by_temperature()[[*names]].rename(names)
    revised = revised_by_temperature().sel(temperature=1.0)
    published = {
        "auroc2_printed": in_print("aggregate", "model")["auroc2"],
        "auroc2_revised": revised["auroc2"],
        "meta_i2r_revised": revised["meta_i2r"],
    }
    at_one = found.merge(printed).assign(m=m_and_limits(found)).sel(temperature=1.0)
    panels = {"accuracy": "accuracy", "AUROC2": "auroc2", "I₂ʳ less its null": "less_null"}
    return {
        "deposit_withdrawn": rows_of(at_one, "model"),
        "deposit_h3": rows_of(h3(found), "model"),
        "measures": over_temperature({label: own[name] for label, name in panels.items()}),
        "measures_said": ends({"AUROC2": own["auroc2"], "I₂ʳ": own["less_null"]}),
        "loss": rows_of(own.sel(temperature=1.0).assign(published), "model"),
    }


def known_truth() -> dict[str, Any]:
    """M of the withdrawn analysis without sampling error, over the true M."""
    curve = withdrawn.expected_mapping()
    words = [f"withdrawn, at d′ = {d:g}" for d in withdrawn.CURVE_D]
    named = curve.assign_coords(dprime=words).rename(dprime="line").to_dataset(name="found")
    m = withdrawn.CURVE_M
    ideal = pd.DataFrame({"line": "truth", "m_ratio": m, "found": m})
    return {
        "truth_lines": pd.concat([ideal, rows_of(named, "line", "m_ratio")]),
        "least_truth": m.min(),
        "largest_truth": m.max(),
        "least_found": curve.min().item(),
        "largest_found": curve.max().item(),
    }
