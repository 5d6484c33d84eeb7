"""Cacioli (2026), a 33-model atlas: AUROC2 by domain as printed, and M of four alternatives.

Answers of 33 language models to 1,500 questions with stated confidence, and a seed → AUROC2, its
intervals and split halves → what is printed, computed; M with ranks, of answers pooled over
questions and apart from differences between questions, and norms by model.
Source: arXiv:2605.06673; github.com/synthiumjp/metacognitive-profile-atlas (data CC BY 4.0).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import friedmanchisquare, norm

from hmetad.base.notice import notices
from hmetad.bayes.fit import fit
from hmetad.compare.ranking import rank, rank_table
from hmetad.compare.verdicts import decide, decide_normal
from hmetad.counts.counting import count_correct
from hmetad.datasets import load_trials, registry
from hmetad.measures.scores import order_scores
from hmetad.measures.trial_measures import measure_trials, resample_trials, resample_trials_interval
from hmetad.mle.meta_d import fit_mle
from hmetad.report.contents.estimates import estimate_table
from hmetad.studies.comparison import Ours, arrays_of, cells_as, file_of, frame_of

NAME, DATA = "atlas2026", "cacioli2026_atlas"
BY, HARD, LIMITS = ["model", "domain"], ["Formal", "Science"], {"lower": 0.025, "upper": 0.975}
OBSERVERS = {"subject": "model", "item": "item_id"}
# Draws; levels of confidence, in whole percentages.
BOOTSTRAPS, STATED = 4_000, 101
# An interval of M as wide says nothing of it, and its model has no rank; in domains this error.
WIDEST, LARGEST_ERROR = 1.0, 0.5
RANKS = ["mean_rank", "rank_lower", "rank_upper", "p_best", "verdict"]


@dataclass(frozen=True)
class Study:
    """All that the study computes."""

    # With the names of models and domains that print has.
    trials: pd.DataFrame
    # By model, domain: trials, auroc2 and its bootstrap (drawn); m_ratio by maximum likelihood.
    cells: xr.Dataset
    # Card `alternatives`, by model; card `alternatives_crossed` by maximum likelihood; and the
    # norms, a row for each model, the largest M first.
    fitted: xr.DataTree
    crossed: xr.Dataset
    models: pd.DataFrame
    seed: int


def analyse(
    *, data: str | Path | None = None, draws: int = 1_000, seed: int = 1, **sample_kwargs: Any
) -> Study:
    """Measure and fit all models; what else is given goes on to `hmetad.fit`.

    `data` is the folder with the data set, as `hmetad.datasets.load_trials` keeps it.
    """
    trials = load_trials(DATA, folder=data)
    names = frame_of(NAME, "matrix").set_index("id")["model"].to_dict()
    trials = trials.replace({"model": names, "domain": file_of(NAME)["domains"]})
    found = fit_mle(counts_by(trials, *BY))
    m_ratio = found["m_ratio"].where(found["m_ratio_se"] < LARGEST_ERROR)
    drawn = resample_trials(trials, by=BY, n=BOOTSTRAPS, seed=seed)["auroc2"]
    cells = measure_trials(trials, by=BY)[["trials", "auroc2"]].assign(drawn=drawn, m_ratio=m_ratio)
    options = {"draws": draws, "random_seed": seed, **sample_kwargs}
    fitted = fit(counts_by(trials, "model"), "alternatives", **options)
    answers = trials[["model", "item_id", "correct", "rating"]]
    answers = answers.rename(columns={new: old for old, new in OBSERVERS.items()})
    crossed = fit_mle(counts_by(answers, *OBSERVERS), "alternatives_crossed")
    models = norms_of(trials, fitted, crossed, seed)
    return Study(trials, cells_as(cells, *BY), fitted, crossed, models, seed)


def counts_by(trials: pd.DataFrame, *by: str) -> xr.DataArray:
    """Right and wrong answers by rating, as the data set is counted."""
    return count_correct(trials, **{**registry()[DATA]["count"], "by": list(by)})


def ranked_crossed(crossed: xr.Dataset, seed: int) -> pd.DataFrame:
    """M apart from differences between questions: interval, and ranks where it is known.

    Ranks are of normal draws with the estimates' standard errors.
    """
    m, se = (crossed[name].to_numpy() for name in ("m_ratio", "m_ratio_se"))
    reach = norm.isf(LIMITS["lower"]) * se
    cells = {"cell": crossed["cell"].values, "model": ("cell", crossed["subject"].values)}
    values = m + se * np.random.default_rng(seed).standard_normal((1, BOOTSTRAPS, len(m)))
    drawn = xr.DataArray(values, cells, ("chain", "draw", "cell"), "m_ratio")
    ranks = rank_table(rank(drawn.isel(cell=2 * reach < WIDEST), over="model")).set_index("model")
    own = {"m_ratio": m, "m_ratio_lower": m - reach, "m_ratio_upper": m + reach}
    frame = pd.DataFrame(own, index=crossed["subject"].to_numpy()).join(ranks[RANKS])
    return frame.rename_axis("model").add_suffix("_crossed").reset_index()


def norms_of(
    trials: pd.DataFrame, fitted: xr.DataTree, crossed: xr.Dataset, seed: int
) -> pd.DataFrame:
    """Measures of each model with intervals over the questions, and its M, ranked where known."""
    own = resample_trials_interval(trials, by="model", cluster="item_id", n=BOOTSTRAPS, seed=seed)
    estimates, m = estimate_table(fitted), fitted["posterior"].to_dataset()["m_ratio"]
    is_known = (estimates["m_ratio_upper"] - estimates["m_ratio_lower"]).to_numpy() < WIDEST
    ranks = rank_table(rank(m.isel(cell=is_known), over="model"))
    sources = [frame_of(NAME, "matrix"), estimate_table(own), estimates, ranks]
    sources.append(ranked_crossed(crossed, seed))
    columns = zip(sources, file_of(NAME)["norms"], strict=True)
    wanted = [table.set_index("model")[names] for table, names in columns]
    unranked = dict.fromkeys(("verdict", "verdict_crossed"), "not ranked")
    frame = pd.concat(wanted, axis="columns").fillna(unranked)
    frame["rank_by_auroc2"] = frame["auroc2"].rank(ascending=False).astype(int)
    return frame.sort_values("mean_rank").reset_index()


def halves_agree(trials: pd.DataFrame, by: str, seeds: range) -> xr.DataArray:
    """Correlation over cells of AUROC2 in both halves of random splits, by split.

    At least four cells have to be defined in both.
    """
    areas = []
    for _, own in trials.groupby(by):
        code = (STATED * own["correct"] + (100 * own["confidence"]).round()).to_numpy(np.int64)
        half, tables = len(code) // 2, []
        for seed in seeds:
            drawn = np.random.default_rng(seed).permutation(code)[: 2 * half].reshape(2, half)
            tables.append([np.bincount(x, minlength=2 * STATED).reshape(2, -1) for x in drawn])
        areas.append(order_scores(np.array(tables))["auroc2"])
    one, other = xr.DataArray(areas, dims=("cell", "split", "half")).transpose("half", ...)
    return xr.corr(one, other, "cell").where((one + other).count("cell") >= 4)


# --- print beside ours --------------------------------------------------------------------------


def recompute(study: Study) -> Ours:
    """All that is printed, by table and quantity."""
    areas, models = study.cells["auroc2"], study.models.set_index("model")
    ours: dict[tuple[str, str], Any] = {
        **{("matrix", name): models[name].to_dict() for name in ("trials", "accuracy", "auroc2")},
        ("matrix", "mean"): areas.mean("domain"),
        ("matrix", "sd"): areas.std("domain", ddof=1),
        **{("cells", name): study.cells[name] for name in ("trials", "auroc2")},
        **of_abstract(study),
    }
    printed = arrays_of(NAME, "cells", "model", "domain").reindex_like(areas)
    for name, level in LIMITS.items():
        # The share below a limit is off in the thousand draws of print, and in ours: on the side
        # of print a limit may lie as far as four standard errors of this share, and be rounded.
        error = 4 * np.sqrt(level * (1 - level) * (1 / 1000 + 1 / BOOTSTRAPS))
        levels = [level - error, level, level + error]
        low, limit, high = study.cells["drawn"].quantile(levels, "draw").drop_vars("quantile")
        reach = xr.where(printed[name] > limit, high - limit, limit - low) + 5e-5
        ours["cells", name] = limit, reach
    return ours


def of_abstract(study: Study) -> dict[tuple[str, str], Any]:
    """Numbers of the abstract."""
    areas = study.cells["auroc2"].to_series().unstack("domain")
    means, place = areas.mean(), areas.rank(axis="columns", ascending=False)
    lower, upper = study.cells["drawn"].quantile([*LIMITS.values()], "draw")
    by_model, splits = study.trials.groupby("model"), range(42, 142)
    profiles = [halves_agree(own, "domain", splits).median() for _, own in by_model]
    found = {
        "answers": len(study.trials),
        **{f"mean AUROC2, {name}": means[name] for name in ("Applied", *HARD)},
        "models with Applied in the upper two": (place["Applied"] <= 2).sum(),
        "models with Formal or Science in the lower two": (place[HARD] >= 5).any(axis=1).sum(),
        "Kendall's W": friedmanchisquare(*areas.to_numpy().T).statistic / areas.iloc[:, 1:].size,
        "median width of the intervals": (upper - lower).median(),
        "split-half r of models": halves_agree(study.trials, "model", splits[:1]).item(),
        "split-half r of profiles, median": np.median(profiles),
    }
    return {("abstract", name): {"all": value} for name, value in found.items()}


# --- the report ---------------------------------------------------------------------------------


def contents(study: Study, _: pd.DataFrame) -> dict[str, Any]:
    """What the report shows."""
    models, plan = study.models, file_of(NAME)
    ranked = models[models["verdict"] != "not ranked"]
    apart = models[models["verdict_crossed"] != "not ranked"].sort_values("mean_rank_crossed")
    rho = ranked[plan["compared"]].corr("spearman")
    found = study.crossed.set_index(cell="subject").sel(cell=models["model"].to_numpy())
    m = study.fitted["posterior"].to_dataset()["m_ratio"].sel(cell=models["model"].to_numpy())
    decided = {name: decide(m, **options) for name, options in plan["asked"].items()}
    for name, options in plan["asked"].items():
        judged = decide_normal(found["m_ratio"], found["m_ratio_se"], **options)
        decided[f"{name}_crossed"] = judged
    domains = study.cells["m_ratio"].to_series().unstack("domain").loc[models["model"]]
    return {
        "models": models,
        "ranked": ranked,
        "first": models.iloc[0],
        "unknown": models.iloc[-1],
        "leading": ", ".join(ranked["model"][ranked["verdict"] == "undecided"].iloc[1:]),
        "open": ", ".join(ranked["model"][ranked["m_ratio_lower"] <= 0]),
        "median": ranked["m_ratio"].median(),
        "apart": apart,
        "first_crossed": apart.iloc[0],
        "crossed": study.crossed,
        "means": models[["m_ratio", "m_ratio_crossed"]].mean(),
        "loadings": " ".join(x.message for x in notices(study.crossed) if x.code == "loadings"),
        "rho": rho,
        "domains": domains.reset_index(),
        "medians": domains.median(),
        "decided": decided,
        "fitted": study.fitted,
        "seed": study.seed,
    }
