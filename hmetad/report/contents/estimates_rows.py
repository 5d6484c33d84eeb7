"""What a fit of estimates says of its population, quantity by quantity.

Fit of estimates (DataTree) → kind, words and draws (chain, draw) of each quantity.
"""

from collections.abc import Iterator, Mapping
from itertools import product

import xarray as xr

from hmetad.bayes.predicted_estimates import predict_estimates
from hmetad.likelihood.families.normal import parameter_name
from hmetad.text.names import effect_names, symbol
from hmetad.variable_names import coefficient_name, name_parts

__all__ = ["estimates_rows", "scale_words"]

type Row = tuple[dict[str, str], xr.DataArray]

SCALES = {"log": "log of ", "logit": "logit of ", "fisher_z": "Fisher's z of "}


def estimates_rows(fit: xr.DataTree, labels: Mapping[str, str]) -> Iterator[Row]:
    """Predicted values of the population, coefficients, group SDs and correlations.

    Parameters
    ----------
    fit : DataTree
        What `bayes.fit_estimates` returned.
    labels : mapping of str to str
        Words in place of names of columns and of their levels.

    Returns
    -------
    iterator of tuple
        kind, quantity, term and variable, as in `population_table`; and the draws.
    """
    quantity = fit.attrs["quantity"]
    predicted = predict_estimates(fit)[quantity]
    for place, label in enumerate(predicted["cell"].values.tolist()):
        words = " | ".join(labels.get(part, part) for part in label.split(" | "))
        said = {"kind": "population", "quantity": symbol(quantity), "variable": quantity}
        yield {**said, "term": "" if label == "population" else words}, predicted.isel(cell=place)
    parameter = parameter_name(quantity, fit.attrs["link"])
    for name, values in fit["posterior"].to_dataset().items():
        said = variable_words(str(name), parameter, scale_words(fit), labels)
        if not said or "cell" in values.dims:
            continue
        places = [str(dim) for dim in values.dims if dim not in ("chain", "draw")]
        shown = dict(labels)
        if said["kind"] == "correlation":
            own = values[places[0]].values.tolist()
            shown |= dict(zip(own, effect_names(places[0], own, labels), strict=True))
        for levels in product(*(values[dim].values.tolist() for dim in places)):
            if said["kind"] == "correlation" and not levels[0] < levels[1]:
                continue
            term = " | ".join(shown.get(str(level), str(level)) for level in levels)
            one = values.sel(dict(zip(places, levels, strict=True)))
            yield {**said, "term": term, "variable": str(name)}, one


def scale_words(fit: xr.DataTree) -> str:
    """The quantity on the scale on which it was modelled."""
    return SCALES.get(fit.attrs["link"], "") + symbol(fit.attrs["quantity"])


def variable_words(
    name: str, parameter: str, scale: str, labels: Mapping[str, str]
) -> dict[str, str]:
    """Kind and quantity of a variable; empty for effects of single groups and for cells."""
    parts, start = name_parts(name), coefficient_name(parameter, "")
    term = parts.term.removeprefix(start)
    groups = " and ".join(labels.get(x, x) for x in parts.factor.split(":"))
    if parts.role == "coefficient" and name.startswith(start):
        return {"kind": "effect", "quantity": f"{scale}: {term}"}
    if parts.role == "sd":
        of = "" if term == "1" else f", {term},"
        return {"kind": "sd", "quantity": f"SD of {scale}{of} by {groups}"}
    if parts.role == "correlation":
        return {"kind": "correlation", "quantity": f"Correlation of effects by {groups}"}
    return {}
