"""What a quantity rests on: which troubles of the sampler withhold verdicts on it.

Fit → notices of each variable, and of predictions. A quantity of a cell rests on its own draws; a
coefficient also on the intercept and the standard deviations of its parameter. Trouble elsewhere in
the model is a warning that names it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import xarray as xr

from hmetad.bayes.convergence import (
    Flags,
    flagged_elements,
    sampled_variables,
    sampling_flags,
    threshold_notices,
    weight_notices,
)
from hmetad.bayes.kept_cells import factors_of
from hmetad.counts.labels import as_text
from hmetad.likelihood.records import Likelihood
from hmetad.notice import Notice, first_few, notice_of, notices
from hmetad.specs.design import cell_table
from hmetad.specs.layout import FACTOR_DIM
from hmetad.specs.spec import spec_of

__all__ = ["notices_of_predictions", "notices_of_variables"]

INTERCEPT, DEVIATION = "_Intercept", "_sigma"
# Codes of errors of a fit that predictions of the same people bear.
OF_PEOPLE = {"divergences", "no-errors"}
# Texts of trouble on which a quantity does not rest.
ELSEWHERE = {"rhat": "rhat.elsewhere", "ess": "ess.elsewhere"}


def notices_of_variables(fit: xr.DataTree, flags: Flags | None = None) -> dict[str, list[Notice]]:
    """Notices of every variable of the posterior.

    Parameters
    ----------
    fit : DataTree
        With its notices.
    flags : mapping of str to mapping of str to DataArray, optional
        As `sampling_flags` returns them, where they are known.

    Returns
    -------
    dict of str to list of Notice
    """
    names = [str(name) for name in fit["posterior"].data_vars]
    others, of_chains = by_what_they_say(fit)
    record, found = spec_of(fit).record, {}
    flags = {} if not of_chains else flags if flags is not None else sampling_flags(fit)
    for name in names:
        dims = [str(dim) for dim in fit["posterior"][name].dims]
        if "cell" in dims:
            own = sources(record, name, flags)
        else:
            own = {name, *shared_terms(parameter_of(record, name), flags)}
        # An effect is that of a person, a coefficient is all people's.
        is_shared = not any(dim == "cell" or dim.endswith(FACTOR_DIM) for dim in dims)
        found[name] = [*(map(of_all_people, others) if is_shared else others), *parted(flags, own)]
    return found


def notices_of_predictions(
    fit: xr.DataTree, predicted: Mapping[str, xr.DataArray]
) -> dict[str, list[Notice]]:
    """Notices of every quantity that is predicted from the population of a fit.

    Parameters
    ----------
    fit : DataTree
    predicted : mapping of str to DataArray
        Dims (chain, draw, cell, ...), with labels of the cells.

    Returns
    -------
    dict of str to list of Notice
    """
    others, of_chains = by_what_they_say(fit)
    others = [of_predicted(one, fit, predicted) for one in others]
    if not of_chains:
        return dict.fromkeys(predicted, others)
    record = spec_of(fit).record
    of_population = [str(name) for name, x in fit["posterior"].items() if "cell" not in x.dims]
    flags = flagged_elements(sampled_variables(fit, of_population))
    needed = parameters_needed(record)
    # Measures follow from all parameters.
    every = set().union(*needed.values())
    found = {}
    for name, values in predicted.items():
        terms = {term for p in needed.get(name, every) for term in shared_terms(p, flags)}
        own = [*parted(flagged_elements(xr.Dataset({name: values})), {name})]
        shared = [one for one in parted(flags, terms) if one.severity == "error"]
        said = {one.code for one in (*own, *shared)}
        rest = [softened(one) for one in of_chains if one.code not in said]
        found[name] = [*others, *own, *shared, *rest]
    return found


def by_what_they_say(fit: xr.DataTree) -> tuple[list[Notice], list[Notice]]:
    """Notices of a fit: those that concern all that it has, and those of single variables."""
    given, of_weights = notices(fit), weight_notices(fit)
    of_chains = [one for one in given if one.code in {"rhat", "ess"} and one not in of_weights]
    return [one for one in given if one not in of_chains], of_chains


def of_all_people(notice: Notice) -> Notice:
    """The notice for what all people share: divergences of a few cells are a warning."""
    if notice.code != "divergences" or not notice.cells:
        return notice
    labels = [*notice.cells]
    return notice_of("divergences.elsewhere", names=first_few(labels, ", "), labels=labels)


def of_predicted(notice: Notice, fit: xr.DataTree, predicted: Mapping[str, xr.DataArray]) -> Notice:
    """The notice with those predicted cells in which all cells of the fit are that it names."""
    cells, columns = next(iter(predicted.values()))["cell"], fit["posterior"]["cell"]
    is_named = columns.isin(notice.cells).to_numpy()
    if notice.code not in OF_PEOPLE or not is_named.any():
        return notice
    new, own = cell_table(cells), cell_table(fit["posterior"].to_dataset())
    shared = [name for name in new if name in own]
    if any({*factor} <= {*shared} for factor in factors_of(spec_of(fit))):
        texts = own[shared].map(as_text)
        named = texts.assign(is_named=is_named).groupby(shared)["is_named"].all()
        is_theirs = new[shared].map(as_text).merge(named.reset_index(), "left")["is_named"].eq(True)
        if is_theirs.any():
            return replace(notice, cells=tuple(map(str, cells.values[is_theirs.to_numpy()])))
    return of_all_people(notice)


def parted(flags: Flags, own: Iterable[str]) -> list[Notice]:
    """Errors of what a quantity rests on, and warnings of what is wrong elsewhere."""
    found = []
    for diagnostic, by_name in flags.items():
        bad = {name: flagged for name, flagged in by_name.items() if bool(flagged.any())}
        rested_on = {name: flagged for name, flagged in bad.items() if name in own}
        found += threshold_notices(rested_on, diagnostic)
        rest = [name for name in bad if name not in rested_on]
        if rest:
            found.append(notice_of(ELSEWHERE[diagnostic], names=first_few(rest, ", ")))
    return found


def sources(record: Likelihood, name: str, flags: Flags) -> set[str]:
    """Variables whose draws are checked in the place of those of a variable of the cells."""
    is_checked = any(name in by_name for by_name in flags.values())
    twins = () if is_checked or name not in record.results else record.results[name].convergence_of
    return {name}.union(*(sources(record, twin, flags) for twin in twins if twin != name))


def shared_terms(parameter: str, flags: Flags) -> set[str]:
    """Intercept and standard deviations of a parameter, among what was checked."""
    checked = {name for by_name in flags.values() for name in by_name}
    own = {name for name in checked if name.startswith(f"{parameter}_")}
    return {name for name in own if name == parameter + INTERCEPT or name.endswith(DEVIATION)}


def parameter_of(record: Likelihood, name: str) -> str:
    """Parameter that a coefficient is of; empty for what is of none."""
    known = [p.variable for p in record.parameters if name.startswith(f"{p.variable}_")]
    return max(known, key=len, default="")


def parameters_needed(record: Likelihood) -> dict[str, set[str]]:
    """Parameters, as variables, that each quantity follows from."""
    found = {p.name: {p.variable} for p in record.parameters}
    for quantity in record.quantities:
        if quantity.name not in found and found.keys() >= set(quantity.needs):
            found[quantity.name] = set().union(*(found[need] for need in quantity.needs))
    return found


def softened(notice: Notice) -> Notice:
    """The notice as a warning of trouble elsewhere."""
    return replace(notice, severity="warning", cells=())
