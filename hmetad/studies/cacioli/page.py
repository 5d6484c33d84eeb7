"""The report of the study.

Results, and their comparison with print → report.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.report.page.report import Report
from hmetad.studies.cacioli.comparison import (
    accuracy_of_quartiles,
    by_temperature,
    surer_half,
    table_7,
)
from hmetad.studies.cacioli.deposit import Deposit
from hmetad.studies.cacioli.hypotheses import chance_of_relative_rule, h1, h3, pairwise, ranks
from hmetad.studies.cacioli.roc_data import BINS
from hmetad.studies.cacioli.simulation import ANALYSES, CURVE_D, CURVE_M, TRIALS, Simulation
from hmetad.studies.cacioli.study import Study
from hmetad.studies.cacioli.tables import NAME
from hmetad.studies.printed import arrays_of, file_of
from hmetad.studies.report import build_report

__all__ = ["report"]


def report(study: Study, comparison: pd.DataFrame) -> Report:
    """Report of the reproduction."""
    contents = {
        "deposit": study.deposit,
        "deposited": "not given" if study.deposit is None else f"{BINS} bins",
        "withdrawn": study.quartiles,
        "quartiles": quartile_frame(study),
        **ranking(),
        "chance": chance_of_relative_rule(),
        **temperatures_in_print(),
        "h3": rows_of(h3(table_7()), "model"),
        "pairs": pair_frame(study),
        "domains": domain_frame(),
        **(deposit_contents(study.deposit) if study.deposit is not None else {}),
        **simulation_contents(study.simulation),
        "seed": study.seed,
    }
    return build_report(NAME, contents, comparison)


def quartile_frame(study: Study) -> pd.DataFrame:
    """Withdrawn analysis of Table 5 with two ratings a side; what abstaining gains."""
    shares, found = accuracy_of_quartiles(), study.quartiles
    accuracy, half = shares.mean("quartile"), surer_half(shares)
    values = {"m": interval(found), "h1": h1(found["upper"]), "accuracy": accuracy, "half": half}
    values["gain"] = half - accuracy
    frame = rows_of(found[["dprime"]].assign(values), "dataset", "model")
    return frame.assign(model=frame["model"] + ", " + frame["dataset"])


def rows_of(values: xr.Dataset, *dims: str) -> pd.DataFrame:
    """A row per place, in the order of the dims."""
    return values.to_dataframe(dim_order=list(dims)).reset_index()


def interval(found: xr.Dataset) -> xr.DataArray:
    """M and its limits in words."""
    return xr.apply_ufunc(
        in_words, found["m_ratio"], found["lower"], found["upper"], vectorize=True
    )


def in_words(value: float, lower: float, upper: float) -> str:
    """Value and interval with true minus signs."""
    return f"{value:.3f} [{lower:.3f}, {upper:.3f}]".replace("-", "−")


def ranking() -> dict[str, Any]:
    """Ranks of the models by four measures, a line per model, and in words."""
    table, revised = arrays_of(NAME, "aggregate", "model"), by_temperature("revised_temperature")
    columns = {
        "AUROC2": table["auroc2"],
        "AUROC2, revised": revised["auroc2"].sel(temperature=1.0, drop=True),
        "I₂ʳ, revised": revised["meta_i2r"].sel(temperature=1.0, drop=True),
        "M-ratio, withdrawn": table["m_ratio"],
    }
    placed = ranks(xr.Dataset(columns))
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
    table, revised = by_temperature("temperature"), by_temperature("revised_temperature")
    d, meta_d, told = table["dprime"], table["meta_d"], revised["meta_i2r"]
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
    in_print = pairwise(arrays_of(NAME, "aggregate", "model"))
    ours = pairwise(study.quartiles.sel(dataset="TriviaQA"))
    said = {
        name: [in_words(*row) for row in frame[["difference", "lower", "upper"]].to_numpy()]
        for name, frame in (("print", in_print), ("quartiles", ours))
    }
    return in_print.assign(models=in_print["left"] + " − " + in_print["right"], **said)


def domain_frame() -> pd.DataFrame:
    """M of the withdrawn and I₂ʳ of the revised analysis by domain, and their rank correlation."""
    m, told = (
        arrays_of(NAME, table, "model", "domain")[name].to_dataframe()[name].unstack(sort=False)
        for table, name in (("domains", "m_ratio"), ("revised_domains", "meta_i2r"))
    )
    both = m.map("{:.3f}; ".format) + told.map("{:.3f}".format)
    rho = m.rank(axis="columns").corrwith(told.rank(axis="columns"), axis="columns")
    return both.assign(ρ=rho).rename_axis("Model").reset_index()


def deposit_contents(deposit: Deposit) -> dict[str, Any]:
    """Tables of the deposited counts, and measures over all temperatures."""
    found, own = deposit.withdrawn, deposit.measures.sel(dataset="TriviaQA")
    in_print = by_temperature("temperature")[["dprime", "m_ratio"]]
    in_print = in_print.rename(dprime="dprime_printed", m_ratio="m_printed")
    at_one = found.merge(in_print).assign(m=interval(found)).sel(temperature=1.0)
    revised = by_temperature("revised_temperature").sel(temperature=1.0)
    published = {
        "auroc2_printed": arrays_of(NAME, "aggregate", "model")["auroc2"],
        "auroc2_revised": revised["auroc2"],
        "meta_i2r_revised": revised["meta_i2r"],
    }
    panels = {"accuracy": "accuracy", "AUROC2": "auroc2", "I₂ʳ less its null": "less_null"}
    said = ends({"AUROC2": own["auroc2"], "I₂ʳ": own["less_null"]})
    return {
        "deposit_withdrawn": rows_of(at_one, "model"),
        "deposit_h3": rows_of(h3(found), "model"),
        "deposit_robustness": variants(deposit.robustness),
        "measures": over_temperature({label: own[name] for label, name in panels.items()}),
        "measures_said": said,
        "loss": rows_of(own.sel(temperature=1.0).assign(published), "model"),
    }


def variants(m: xr.DataArray) -> pd.DataFrame:
    """M by model and variant of the analysis."""
    table = m.to_dataframe(name="m", dim_order=["model", "variant"])["m"].unstack(sort=False)
    return table.rename_axis("Model").reset_index()


def simulation_contents(simulation: Simulation) -> dict[str, Any]:
    """Truth, what both analyses find of it, and what H3 and the robustness of M say there."""
    truth, real, mapped = (
        part.sel(temperature=1.0)
        for part in (simulation.truth, simulation.real, simulation.withdrawn)
    )
    found = mapped[["dprime", "auroc2"]].assign(
        true_d=truth["dprime"],
        true_m=truth["m_ratio"],
        real=interval(real),
        withdrawn=interval(mapped),
        h1=h1(mapped["upper"]),
    )
    meta_d, curve = simulation.truth["meta_d"], simulation.curve
    spans = (meta_d.max("temperature") - meta_d.min("temperature")).to_numpy()
    return {
        **truth_lines(simulation),
        "truth": rows_of(found, "model"),
        "trials": TRIALS,
        "true_range": ", ".join(f"{span:.2f}" for span in spans),
        "analyses": [one_analysis(simulation, name) for name in ANALYSES],
        "least_truth": CURVE_M.min(),
        "largest_truth": CURVE_M.max(),
        "least_found": curve.min().item(),
        "largest_found": curve.max().item(),
        "intervals": simulation.real["m_ratio"].size,
        **{f"covering_{name}": covering(simulation, name) for name in ANALYSES},
    }


def one_analysis(simulation: Simulation, name: str) -> dict[str, Any]:
    """H3 and the robustness of M by one of `ANALYSES`."""
    own = getattr(simulation, name)
    return {
        "name": name,
        "analysis": ANALYSES[name],
        "found_h3": rows_of(h3(own), "model"),
        "found_robustness": variants(simulation.robustness[name]),
    }


def covering(simulation: Simulation, name: str) -> int:
    """How many intervals of M cover the truth."""
    found, truth = getattr(simulation, name), simulation.truth["m_ratio"]
    return int(((found["lower"] <= truth) & (truth <= found["upper"])).sum())


def truth_lines(simulation: Simulation) -> dict[str, pd.DataFrame]:
    """M found over M that is true: what is expected, and points of both analyses."""
    curve = simulation.curve.assign_coords(
        dprime=[f"withdrawn, expected at d′ = {d:g}" for d in CURVE_D]
    )
    lines = rows_of(curve.to_dataset(name="found").rename(dprime="line"), "line", "m_ratio")
    ideal = pd.DataFrame({"line": "truth", "m_ratio": CURVE_M, "found": CURVE_M})
    shift = np.linspace(-0.03, 0.03, simulation.truth.sizes["temperature"])
    points = []
    for name, words in ANALYSES.items():
        found = getattr(simulation, name)[["m_ratio", "lower", "upper"]]
        place = simulation.truth["m_ratio"] + xr.DataArray(shift, dims="temperature")
        own = rows_of(found.rename(m_ratio="found").assign(m_ratio=place), "model", "temperature")
        points.append(own.assign(line=words))
    return {"truth_lines": pd.concat([ideal, lines]), "truth_points": pd.concat(points)}
