"""How a fit was made: model, priors, convergence, a paragraph to cite from, how to run it again.

Fit (DataTree) → blocks.
"""

import xarray as xr

from hmetad.base.untrusted import read_attr
from hmetad.report.contents.tables import convergence_table
from hmetad.report.page.blocks import Block, Prose, Table
from hmetad.specs.spec import ModelSpec
from hmetad.text.cells import format_cell
from hmetad.text.names import symbol

__all__ = ["method_blocks", "method_text"]

METHOD = (
    "Counts were modelled by the card {card} of hmetad{version}: {method}{formulas} {draws} draws "
    "of {sampling}. "
    "Cells of one fit are compared draw by draw; verdicts follow Kruschke (2018)."
)
SAMPLING = {
    "nuts": "{chains} chains were sampled by {sampler} (seed {seed}) and checked by "
    "rank-normalised R̂ and effective sample sizes (Vehtari et al., 2021)",
    "importance": "each cell were made by importance sampling (seed {seed}) and checked by the "
    "Pareto k of their weights (Vehtari et al., 2024){again}",
}


def method_blocks(fit: xr.DataTree, spec: ModelSpec, command: str, text: str = "") -> list[Block]:
    """Model, priors, convergence, a paragraph to cite from, and how to run it again."""
    versions = ", ".join(f"{k} {v}" for k, v in read_attr(fit.attrs, "versions").items())
    session = [f"Versions: {versions}."]
    if command:
        session.append(f"To run it again: {command}")
    return [
        Prose("Method", tuple(filter(None, (text or method_text(fit, spec), spec.record.limits)))),
        model_table(spec),
        prior_table(spec),
        convergence_table({fit.attrs["model"]: fit}),
        Prose("Session", tuple(session)),
    ]


def method_text(fit: xr.DataTree, spec: ModelSpec) -> str:
    """How the counts were modelled and the posterior was sampled."""
    posterior, stats = fit["posterior"], fit["sample_stats"].to_dataset()
    # Fits of older versions do not say how they were sampled: by chains.
    sampling = SAMPLING[fit.attrs.get("method", "nuts")]
    versions = read_attr(fit.attrs, "versions")
    number = int(stats["by_chains"].sum()) if "by_chains" in stats else 0
    return METHOD.format(
        sampling=sampling.format(
            **{k: fit.attrs[k] for k in ("sampler", "seed")},
            chains=posterior.sizes["chain"],
            again=f"; {number} with uneven weights by chains" if number else "",
        ),
        card=f"{spec.name!r} ({spec.title})" if spec.title else repr(spec.name),
        version=f" {versions['hmetad']}" if "hmetad" in versions else "",
        method=method_of(spec),
        formulas=formulas_text(spec),
        draws=f"{posterior.sizes['chain'] * posterior.sizes['draw']:,}",
    )


def formulas_text(spec: ModelSpec) -> str:
    """Formulas of the parameters in a sentence, each formula once; empty where there are none."""
    by_formula: dict[str, list[str]] = {}
    for name, text in spec.formula.items():
        by_formula.setdefault(text, []).append(symbol(name))
    told = [f"{', '.join(names)} ~ {text}" for text, names in by_formula.items()]
    return f" Formulas: {'; '.join(told)}." if told else ""


def method_of(spec: ModelSpec) -> str:
    """How counts are modelled, with what was chosen; other braces may be those of LaTeX."""
    said = spec.record.method
    for name, value in spec.choices.items():
        said = said.replace(f"{{{name}}}", value)
    return said


def model_table(spec: ModelSpec) -> Table:
    """Choices of the model card, and its formulas."""
    rows = [("Likelihood", spec.likelihood)]
    rows += [(choice.description, spec.choices[choice.name]) for choice in spec.record.choices]
    means = {one.name: f" ({one.description})" for one in spec.record.parameters}
    rows += [
        (f"Formula of {symbol(name)}{means.get(name, '') if symbol(name) == name else ''}", text)
        for name, text in spec.formula.items()
    ]
    rows += [("Reference", spec.reference)] if spec.reference else []
    caption = f"Model card {spec.name}."
    return Table(caption, ("Choice", "Value"), tuple(rows), name="model")


def prior_table(spec: ModelSpec) -> Table:
    """Prior of each variable."""
    rows = []
    for name, prior in spec.priors.items():
        inside = ", ".join(f"{k} {format_cell(v, '.4g')}" for k, v in prior.parameters.items())
        rows.append((name, f"{prior.dist}({inside})"))
    return Table("Priors.", ("Variable", "Prior"), tuple(rows), name="priors")
