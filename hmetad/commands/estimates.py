"""The command that models estimates with their errors.

Table of estimates, or draws of measures, and a formula → file of the fit, and its population.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, chosen_format, give
from hmetad.commands.arguments import (
    as_seed,
    refuse_codes,
    refuse_idle,
    refuse_inputs,
    writable_file,
)
from hmetad.commands.counting import chosen_limits
from hmetad.commands.draws import DRAWS_FILE
from hmetad.commands.options import AsJson, CiProb, Draws, Limit, PrintAs, Seed
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


def estimates(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Estimates: .csv, .tsv, .jsonl or .parquet; or draws of hmetad measures, or a "
            "fit: .nc.",
        ),
    ],
    formula: Annotated[
        str,
        typer.Option(metavar="FORMULA", help="The quantity and its formula, 'auroc2 ~ 1 + …'."),
    ],
    se: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Standard errors; not with draws."),
    ] = None,
    link: Annotated[
        Literal["identity", "log", "logit", "fisher_z"],
        typer.Option(metavar="NAME", help="Scale: identity, log, logit or fisher_z."),
    ] = "identity",
    limit: Limit = None,
    ci_prob: CiProb = 0.95,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The fit: .nc.")
    ] = Path("estimates.nc"),
    draws: Draws = None,
    seed: Seed = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Model estimates that have errors: populations, shrinkage, what differs between groups."""
    chosen = chosen_format(print_as, as_json)
    path = writable_file(output, ".nc")
    refuse_inputs(path, file)
    if not 0 < ci_prob < 1:
        raise InputError("--ci-prob", str(ci_prob), "a probability between 0 and 1")
    is_drawn = file.suffix == DRAWS_FILE
    refuse_idle(context, limit="it beside a table" if is_drawn else "")
    source: Any = (
        hmetad.bayes.load_source(file)
        if is_drawn
        else hmetad.logs.read_table(file, limits=chosen_limits(limit))
    )
    if is_drawn:
        refuse_codes([formula.partition("~")[2] or "1"], source["posterior"].to_dataset())
    result = hmetad.bayes.fit_estimates(
        source, formula, se=se, link=link, seed=seed, draws=1000 if draws is None else draws
    )
    hmetad.save_fit(result, path)
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
    give(answer, chosen, [path])


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
