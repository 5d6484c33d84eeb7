"""Tables of the report of Cacioli (2026).

Study, deposit and simulation → Table.
"""

from typing import Any

import pandas as pd
import xarray as xr

from hmetad.report.page.report import Table, table_from_frame
from hmetad.studies.cacioli2026 import Study, by_model_and_quartile, printed_pairs
from hmetad.studies.cacioli2026_deposit import Deposit
from hmetad.studies.cacioli2026_pipeline import h1, pairwise
from hmetad.studies.cacioli2026_printed import by_model, printed, tempered
from hmetad.studies.cacioli2026_simulation import TRIALS, Simulation

__all__ = [
    "domain_table",
    "h3_table",
    "loss_table",
    "pair_table",
    "quartile_table",
    "revised_at_one",
    "robustness_table",
    "truth_table",
    "withdrawn_table",
]


def quartile_table(study: Study) -> Table:
    """Withdrawn analysis of Table 5 with two ratings a side; what abstaining gains."""
    shares = by_model_and_quartile()
    rows = []
    for dataset in printed()["datasets"]:
        for model in printed()["models"]:
            own = study.quartiles.sel(dataset=dataset, model=model)
            share = shares.sel(dataset=dataset, model=model)
            half = share.isel(quartile=slice(2, None)).mean().item()
            rows.append(
                {
                    "Model": f"{model}, {dataset}",
                    "d′": own["dprime"].item(),
                    "M, withdrawn": interval(own, "m_ratio"),
                    "H1": h1(own["upper"]).item(),
                    "Accuracy": share.mean().item(),
                    "at half coverage": half,
                    "gain": half - share.mean().item(),
                }
            )
    caption = (
        "The withdrawn analysis of the quartiles (K = 2; 95 % bootstrap intervals), and accuracy "
        "of all questions and of the surer half."
    )
    note = "NQ is R4, the replication; print has it in a supplement."
    return table_from_frame(pd.DataFrame(rows), caption, note=note, name="quartiles")


def h3_table(found: xr.Dataset, shown: xr.Dataset, caption: str) -> Table:
    """H3 by both rules of print, and by an interval TOST."""
    frame = pd.DataFrame(
        {
            "Model": found["model"].to_numpy(),
            "Range of meta-d′": found["range"].to_numpy(),
            "below .3": found["stable"].to_numpy(),
            "ρ(meta-d′, T)": found["rho_meta_d"].to_numpy(),
            "ρ(d′, T)": found["rho_dprime"].to_numpy(),
            "nearer 0": found["relative"].to_numpy(),
            "H3": found["supported"].to_numpy(),
            "Interval TOST": shown["equivalent"].to_numpy(),
            "reach": shown["reach"].to_numpy(),
        }
    )
    note = (
        "Reach: the end farthest from 0 of the 90 % intervals of differences between temperatures."
    )
    return table_from_frame(frame, caption, note=note)


def pair_table(study: Study) -> Table:
    """Every two models: overlap and difference, of print and of the quartiles."""
    by_print = printed_pairs()
    own = study.quartiles.sel(dataset="TriviaQA")
    ours = pairwise(own["m_ratio"], own["lower"], own["upper"], own["draws"])
    frame = pd.DataFrame(
        {
            "Models": by_print["left"] + " − " + by_print["right"],
            "Difference of M, print": [limits(row) for row in by_print.to_dict("records")],
            "intervals overlap by": by_print["overlap"],
            "Quartiles, K = 2": [limits(row) for row in ours.to_dict("records")],
        }
    )
    caption = (
        "Withdrawn M of every two models: 95 % intervals of the difference, normal from the "
        "printed intervals, by bootstrap from the quartiles."
    )
    return table_from_frame(frame, caption, name="pairs")


def domain_table() -> Table:
    """M of the withdrawn and I₂ʳ of the revised analysis by domain, and their rank correlation."""
    names = printed()["domains"]["names"]
    m = by_model("domains", "domain", names)["m_ratio"]
    told = by_model("revised_domains", "domain", names)["meta_i2r"]
    rows = []
    for model in printed()["models"]:
        both = pd.DataFrame({"m": m.sel(model=model), "told": told.sel(model=model)}).rank()
        cells = {
            name: f"{m.sel(model=model, domain=name).item():.3f}; "
            f"{told.sel(model=model, domain=name).item():.3f}"
            for name in names
        }
        rows.append({"Model": model} | cells | {"ρ": both["m"].corr(both["told"])})
    caption = "Withdrawn M; revised I₂ʳ, by domain of TriviaQA, and their rank correlation."
    return table_from_frame(pd.DataFrame(rows), caption, formats={"ρ": ".1f"}, name="domains")


def withdrawn_table(deposit: Deposit) -> Table:
    """Withdrawn analysis of the deposited counts at T = 1 and in print."""
    found, table = deposit.withdrawn.sel(temperature=1.0), tempered().sel(temperature=1.0)
    rows = [
        {
            "Model": model,
            "below the cut": found["below"].sel(model=model).item(),
            "ratings above": int(found["ratings_above"].sel(model=model)),
            "d′": found["dprime"].sel(model=model).item(),
            "d′, print": table["dprime"].sel(model=model).item(),
            "M": interval(found.sel(model=model), "m_ratio"),
            "M, print": table["m_ratio"].sel(model=model).item(),
        }
        for model in printed()["models"]
    ]
    caption = (
        "The withdrawn analysis at T = 1 with the edges of bins that are nearest to its quantiles; "
        "TriviaQA."
    )
    note = "Below the cut: the share of trials that print has at one half."
    formats = {"below the cut": ".2f"}
    return table_from_frame(pd.DataFrame(rows), caption, formats=formats, note=note, name="deposit")


def robustness_table(m: xr.DataArray, caption: str) -> Table:
    """M by model and variant."""
    frame = m.to_pandas().rename_axis("Model").reset_index()
    return table_from_frame(frame, caption)


def loss_table(deposit: Deposit) -> Table:
    """AUROC2 and I₂ʳ by binning, and the ROC that a line through the zROC gives."""
    published = by_model("aggregate")["auroc2"]
    revised = revised_at_one()
    own = deposit.measures.sel(dataset="TriviaQA", temperature=1.0)
    rows = [
        {
            "Model": model,
            "AUROC2: print": published.sel(model=model).item(),
            "8 quantiles": revised["auroc2"].sel(model=model).item(),
            "20 bins": own["auroc2"].sel(model=model).item(),
            "A_z": own["a_z"].sel(model=model).item(),
            "I₂ʳ: 8 quantiles": revised["meta_i2r"].sel(model=model).item(),
            "less null": own["less_null"].sel(model=model).item(),
            "bias reduced": own["reduced"].sel(model=model).item(),
            "fullest bin": own["top"].sel(model=model).item(),
        }
        for model in printed()["models"]
    ]
    caption = (
        "What binning loses, at T = 1 on TriviaQA; A_z, of the fitted unequal-variance ROC, and "
        "the corrected I₂ʳ are of the 20 bins."
    )
    formats = {"fullest bin": ".2f"}
    return table_from_frame(pd.DataFrame(rows), caption, formats=formats, name="loss")


def truth_table(simulation: Simulation) -> Table:
    """Truth and both analyses at T = 1."""
    rows = []
    for model in simulation.truth["model"].to_numpy().tolist():
        at = {"model": model, "temperature": 1.0}
        truth, real, mapped = (
            part.sel(at) for part in (simulation.truth, simulation.real, simulation.withdrawn)
        )
        rows.append(
            {
                "Model": model,
                "True d′": truth["dprime"].item(),
                "true M": truth["m_ratio"].item(),
                "M by the decision": interval(real, "m_ratio"),
                "M, withdrawn": interval(mapped, "m_ratio"),
                "H1, withdrawn": h1(mapped["upper"]).item(),
                "d′, withdrawn": mapped["dprime"].item(),
                "AUROC2": mapped["auroc2"].item(),
            }
        )
    caption = f"Four simulated models at T = 1, {TRIALS:,} trials each."
    return table_from_frame(pd.DataFrame(rows), caption, name="truth")


def revised_at_one() -> xr.Dataset:
    """The author's revised measures on TriviaQA at T = 1, dim model."""
    names = printed()["temperatures"]
    return by_model("revised_temperature", "temperature", names).sel(temperature=1.0)


def interval(own: xr.Dataset, name: str) -> str:
    """Estimate and limits in words."""
    value, lower, upper = (own[key].item() for key in (name, "lower", "upper"))
    return spoken(value, lower, upper)


def limits(row: dict[Any, Any]) -> str:
    """Difference and its interval in words."""
    return spoken(row["difference"], row["lower"], row["upper"])


def spoken(value: float, lower: float, upper: float) -> str:
    """Value and interval with true minus signs."""
    return f"{value:.3f} [{lower:.3f}, {upper:.3f}]".replace("-", "−")
