"""The command that models estimates with their errors.

Table of estimates, or draws of measures, and a formula → file of the fit, and its population.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, give
from hmetad.commands.arguments import as_seed, output_file, refuse_codes
from hmetad.commands.counting import chosen_limits
from hmetad.commands.fits import DRAWS_FILE
from hmetad.commands.options import Limit, PrintOptions
from hmetad.errors import InputError
from hmetad.untrusted import read_attr
from hmetad.variable_names import name_parts

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["EXAMPLES", "estimates"]

EXAMPLES = """
hmetad estimates draws.nc --formula "auroc2 ~ 0 + model + (1 | set) + (1 | model:set)" \\
  -o sets.nc
hmetad estimates studies.csv --formula "effect ~ 1 + (1 | study)" --se error -o studies.nc
"""
SHOWN = {"variable": "variable", "place": "", "mean": "mean", "sd": "SD"}


@dataclass(frozen=True, kw_only=True)
class EstimatesOptions(PrintOptions):
    """Estimates, their formula, and how its model is drawn.

    Parameters
    ----------
    file : FILE
        Estimates: .csv, .tsv, .jsonl or .parquet; or draws of hmetad measures, or a fit: .nc.
    formula : FORMULA
        The quantity and its formula, 'auroc2 ~ 1 + …'.
    se : COLUMN
        Standard errors; not with draws.
    link : NAME
        Scale: identity, log, logit or fisher_z.
    ci_prob : P
        Probability of the intervals.
    draws : N
        Posterior draws of each chain.
    seed : N
        Same seed, same draws (same versions and caches).
    output : FILE
        The fit: .nc.
    """

    file: Annotated[Path, typer.Argument()]
    formula: str
    se: str | None = None
    link: Literal["identity", "log", "logit", "fisher_z"] = "identity"
    limit: Limit = None
    ci_prob: float = 0.95
    draws: Annotated[int, typer.Option(min=4)] = 1000
    seed: Annotated[int | None, typer.Option(min=0)] = None
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("estimates.nc")


def estimates(asked: EstimatesOptions) -> None:
    """Model estimates that have errors: populations, shrinkage, what differs between groups."""
    chosen, ci_prob = asked.format, asked.ci_prob
    written = output_file(asked.output, [".nc"], asked.file)
    if not 0 < ci_prob < 1:
        raise InputError("--ci-prob", str(ci_prob), "a probability between 0 and 1")
    result = hmetad.bayes.fit_estimates(
        source_of(asked), asked.formula,
        se=asked.se, link=asked.link, seed=asked.seed, draws=asked.draws,
    )  # fmt: skip
    hmetad.save_fit(result, *written)
    rows = [row for one in variables(result) for row in rows_of_variable(one, ci_prob)]
    shown = {**SHOWN, "lower": "lower", "upper": "upper"}
    title = f"{result.attrs['formula']}: posterior means, {100 * ci_prob:g} % intervals"
    said: dict[str, Any] = {name: result.attrs[name] for name in ("formula", "link")}
    stats = result["sample_stats"]
    numbers = [name for name in ("p_fit", "pareto_k", "effective_draws") if name in stats]
    said |= {name: float(stats[name].max()) for name in numbers}
    said["convergence"] = hmetad.report.convergence_record(result)
    answer = Answer(
        (Listing(rows, shown, title),),
        hmetad.notices(result),
        as_seed(result.attrs["seed"]),
        read_attr(result.attrs, "versions"),
        said,
    )
    give(answer, chosen, written)


def source_of(asked: EstimatesOptions) -> Any:
    """Draws or a fit, where the file holds them; else a table of estimates."""
    is_drawn = asked.file.suffix == DRAWS_FILE
    asked.refuse_idle(limit="it beside a table" if is_drawn else "")
    if not is_drawn:
        return hmetad.logs.read_table(asked.file, limits=chosen_limits(asked.limit))
    source = hmetad.bayes.load_source(asked.file)
    refuse_codes([asked.formula.partition("~")[2] or "1"], source["posterior"].to_dataset())
    return source


def variables(fit: "xr.DataTree") -> Iterator["xr.DataArray"]:
    """Variables of a population: coefficients, standard deviations and correlations."""
    for name, values in fit["posterior"].data_vars.items():
        if "cell" not in values.dims and name_parts(str(name)).role != "effect":
            yield values


def rows_of_variable(values: "xr.DataArray", ci_prob: float) -> Iterator[dict[str, Any]]:
    """Mean, SD and interval of each place of a variable."""
    sampled = ["chain", "draw"]
    lower, upper = (values.quantile(p, sampled) for p in ((1 - ci_prob) / 2, (1 + ci_prob) / 2))
    parts = {
        "mean": values.mean(sampled),
        "sd": values.std(sampled),
        "lower": lower,
        "upper": upper,
    }
    places = [str(dim) for dim in values.dims if dim not in sampled]
    levels = [values[dim].values.tolist() for dim in places]
    for labels in product(*levels):
        at = dict(zip(places, labels, strict=True))
        numbers = {name: float(part.sel(at)) for name, part in parts.items()}
        yield {"variable": str(values.name), "place": " | ".join(map(str, labels)), **numbers}
