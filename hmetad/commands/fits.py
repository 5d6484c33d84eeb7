"""Fits from files, each under a name, and the draws of them that a question is about.

Paths → fits by name; fits → draws to compare, and their notices, seeds and versions.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.base.errors import ChoiceError, ModelError, RepeatError
from hmetad.base.notice_registry import about_alone, repeat_in_comparison
from hmetad.base.results import about as about_quantity
from hmetad.base.results import results
from hmetad.base.untrusted import read_attr
from hmetad.base.variable_roles import is_dim_of
from hmetad.commands.answer import as_seed

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.base.notice import Notice

__all__ = [
    "DRAWS_FILE",
    "Fits",
    "about_fits",
    "are_resampled",
    "bearing_notices",
    "fit_notices",
    "judged_quantity",
    "levels_of",
    "named_fits",
    "notices_command",
    "predicted_draws",
    "read_fits",
]

DRAWS_FILE = ".nc"
type Fits = Mapping[str, "xr.DataTree"]


def are_resampled(source: "xr.DataTree") -> bool:
    """Whether draws are of resampling, or of a model of estimates, and of no fit of counts."""
    return "spec" not in source.attrs or "formula" in source.attrs


def named_fits(files: Sequence[str]) -> dict[str, Path]:
    """Path of each fit by its name: of ``name=file.nc`` that, else the stem of the file.

    Raises
    ------
    InputError
        If two have one name, or a name or a file is empty.
    """
    named: dict[str, Path] = {}
    for file in files:
        name, sign, path = ("", "", file) if Path(file).exists() else file.rpartition("=")
        if not path or (sign and not name):
            raise ChoiceError("FILE", repr(file), "file.nc or name=file.nc")
        name = name or Path(path).stem
        if name in named:
            got = f"two fits named {name!r}, {named[name]} and {path}"
            step = f"Write {name}1={named[name]} {name}2={path}."
            raise RepeatError("FILE", got, "fits with names of their own", step)
        named[name] = Path(path)
    return named


def read_fits(paths: Mapping[str, Path]) -> dict[str, "xr.DataTree"]:
    """Fits by name, or draws in the form of fits."""
    return {name: hmetad.bayes.load_source(path) for name, path in paths.items()}


def judged_quantity(fits: Fits) -> str:
    """Quantity that the likelihood of fits is about: that of the first; of draws AUROC2."""
    first = next(iter(fits.values()))
    if are_resampled(first):
        return str(first.attrs.get("quantity", "auroc2"))
    return hmetad.bayes.spec_of(next(iter(fits.values()))).record.compared


def about_fits(fits: Fits, paths: Mapping[str, Path]) -> dict[str, Any]:
    """Seed and model, where there is one fit, and the settings and versions of each."""
    records = {
        name: {"file": str(paths[name]), **(about_draws(fit) if are_resampled(fit) else about(fit))}
        for name, fit in fits.items()
    }
    one: dict[str, Any] = next(iter(records.values())) if len(records) == 1 else {}
    return {"seed": one.get("seed"), "model": one.get("model"), "fits": records}


def about(fit: "xr.DataTree") -> dict[str, Any]:
    """Settings, versions and convergence of a fit."""
    return {
        "model": fit.attrs["model"],
        "seed": as_seed(fit.attrs["seed"]),
        "sampler": fit.attrs["sampler"],
        "versions": read_attr(fit.attrs, "versions"),
        "convergence": hmetad.report.convergence_record(fit),
    }


def about_draws(draws: "xr.DataTree") -> dict[str, Any]:
    """How draws were resampled."""
    said = {name: draws.attrs.get(name) for name in ("kind", "cluster")}
    names = [name for name in ("formula", "link", "source") if name in draws.attrs]
    said |= {name: draws.attrs[name] for name in names}
    sizes = draws["posterior"].sizes
    number = {"draws": sizes["draw"] * sizes["chain"]}
    return {**said, **number, "seed": as_seed(draws.attrs.get("seed"))}


def fit_notices(fits: Fits) -> list["Notice"]:
    """Notices of fits; of several each begins with the name of its fit."""
    if len(fits) == 1:
        return [notice for fit in fits.values() for notice in hmetad.notices(fit)]
    return [
        replace(notice, message=f"{name}: {notice.message}")
        for name, fit in fits.items()
        for notice in hmetad.notices(fit)
    ]


def notices_command(paths: Iterable[Path]) -> str:
    """Command that says the notices of fits whole."""
    return shlex.join(["hmetad", "notices", *map(str, paths)])


def bearing_notices(
    found: Iterable["Notice"], fits: Fits, quantity: str, withheld: Iterable[str]
) -> list["Notice"]:
    """Notices of a comparison that its fits have not said, or that its verdicts rest on.

    `withheld` are the codes that withhold verdicts, as the column of that name has them.
    """
    known = {one.code for fit in fits.values() for one in hmetad.notices(fit)}
    codes = {code for text in withheld for code in text.split(", ")}
    of, found = about_quantity(quantity), [*found]
    again = [x for x in found if x.severity == "warning" and repeat_in_comparison(x.code)]
    again = [x for x in again if about_alone(x.code) in ("", of)]
    return [x for x in found if x.code not in known or x.code in codes or x in again]


def levels_of(fits: Fits, over: str) -> dict[str, Any]:
    """Levels of a coordinate by their text, in the type that the coordinate has.

    Levels of a factor of the formula are those of the dim that the formula made of it; what no
    fit has are the names of the fits themselves, where there are several.
    """
    found: dict[str, Any] = {}
    for fit in fits.values():
        posterior = fit["posterior"].to_dataset()
        for name, values in posterior.coords.items():
            if name == over or is_dim_of(str(name), values.attrs, over):
                found |= {str(level): level for level in values.values.ravel().tolist()}
    return found or ({name: name for name in fits} if len(fits) > 1 else {})


def predicted_draws(
    fit: "xr.DataTree", var: str, *, population: bool = False, new: Sequence[str] = ()
) -> Any:
    """Draws of one fit: its own, of its population, or of a measure that its model predicts."""
    if are_resampled(fit):
        if "formula" in fit.attrs:
            is_predicted = population or bool(new)
            return hmetad.bayes.predict_estimates(fit, new=[*new]) if is_predicted else fit
        if new:
            step = "Model them first: hmetad estimates draws.nc --formula …"
            raise ModelError("--new", "draws without a model", "a fit of estimates", step)
        if population:
            step = "Model them first: hmetad estimates draws.nc --formula …"
            raise ModelError("--population", "draws without a model", "a fit", step)
        return fit
    if new:
        step = "To compare conditions of its population: --population."
        raise ModelError("--new", "a fit of counts", "a fit of estimates", step)
    is_own = var in fit["posterior"]
    if not is_own and not population and var in hmetad.bayes.spec_of(fit).record.results:
        # A fit of very many cells keeps none of them.
        return hmetad.bayes.predict_levels(fit)
    if not is_own and any(one.measured and one.name == var for one in results()):
        return hmetad.bayes.predict_measures(fit, var, group_terms=not population)
    return hmetad.predict(fit) if population else fit
