"""Can a fit be trusted? R̂, effective draws and divergences; and which quantity rests on which.

Fit → list of Notice, of the fit and of each variable. R̂ is the rank-normalised one, and it is
checked for d′ and c as well as for M: the classic R̂ can be near 1 while chains drift together. A
quantity of a cell rests on its own draws; a coefficient also on the intercept and the standard
deviations of its parameter. Trouble elsewhere in the model is a warning that names it.
Source: Vehtari et al. (2021).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.monte_carlo import ROWS_AT_ONCE, chains_disagree, check_chains
from hmetad.base.notice import Notice, first_few, notice_of, notices
from hmetad.base.notice_registry import about_alone, limit
from hmetad.base.threads import in_threads
from hmetad.bayes.fitted import Fitted
from hmetad.counts.columns import as_text
from hmetad.likelihood.family import Family
from hmetad.specs.design import cell_table

type Floats = NDArray[np.float64]
# Diagnostic ("rhat", "ess") → variable → which of its elements are bad.
type Flags = Mapping[str, Mapping[str, xr.DataArray]]

# Attr of the statistics: what is as with longer steps, of which more diverged: "all", "population".
AGREE = "agree_with_longer_steps"
# Attr of the statistics: 1 where all that is judged has met R̂ and effective draws.
ENOUGH = "draws_are_enough"
# Divergences are charged to cells that have so many each, are such a share of the cells at most,
# and leave such a share of the divergences to others at most.
FEWEST_OF_A_CELL, MOST_CHARGED, MOST_ELSEWHERE = 5, 0.2, 0.1
# Codes of notices of a fit that predictions of the same people bear.
OF_PEOPLE = {"divergences", "no-errors", "all-one-rating", "at-chance"}
OF_PEOPLE |= {"dprime-sign", "meta-d-sign"}
# Texts of trouble of some cells alone, and of trouble on which a quantity does not rest.
OF_CELLS = {"rhat": "rhat.cells", "ess": "ess.cells"}
ELSEWHERE = {"rhat": "rhat.elsewhere", "ess": "ess.elsewhere"}


def sampled_variables(fitted: Fitted, names: Sequence[str] | None = None) -> xr.Dataset:
    """Variables whose convergence is checked: those that vary, each once.

    Left out: constants, variables with undefined draws, group-level effects, and quantities that
    are functions of others in the list.
    """
    effects = {name for name, own in fitted.identities.items() if own.role == "effect"}
    is_whole = {name: bool(own.notnull().all()) for name, own in fitted.posterior.items()}
    twice = {p.variable for p in fitted.record.parameters if not p.in_posterior} | {
        name
        for name, quantity in fitted.record.results.items()
        if quantity.convergence_of
        and all(is_whole.get(other, False) for other in quantity.convergence_of)
    }
    kept = [
        name
        for name, values in fitted.posterior.items()
        if name not in twice
        and (names is None or name in names)
        and name not in effects
        and is_whole[name]
        and bool((values != values[{"chain": 0, "draw": 0}]).any())
    ]
    return fitted.posterior[kept]


def check_variable(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """R̂ and effective draws of bulk and tails of every element of (chain, draw, ...)."""
    rows = draws_by_element(values)
    parts = [rows[i : i + ROWS_AT_ONCE] for i in range(0, len(rows), ROWS_AT_ONCE)]
    found = map(np.concatenate, zip(*in_threads(check_chains, parts), strict=True))
    template = values.isel(chain=0, draw=0, drop=True)
    rhat, bulk, tail = (template.copy(data=one.reshape(template.shape)) for one in found)
    return rhat, bulk, tail


def draws_by_element(values: xr.DataArray) -> Floats:
    """Draws of every element of (chain, draw, ...), as rows (element, chain, draw)."""
    last = values.transpose(..., "chain", "draw")
    return last.values.reshape(-1, *last.shape[-2:])


def flagged_elements(sampled: xr.Dataset) -> Flags:
    """Which elements of each variable have a high R̂ or a low ESS.

    Of many values some exceed any fixed limit of R̂ by chance. So values of cells, of which there
    may be thousands, are flagged only above a limit that follows from their number and their ESS.
    """
    least, of_cells = limit("ess"), {name for name, x in sampled.items() if "cell" in x.dims}
    number = sum(sampled[name].isel(chain=0, draw=0).size for name in of_cells)
    flags: dict[str, dict[str, xr.DataArray]] = {"rhat": {}, "ess": {}}
    # With one rating there are no criteria.
    for name, values in ((name, x) for name, x in sampled.items() if x.size):
        rhat, bulk, tail = check_variable(values)
        # What does not vary, as the diagonal of a correlation, has no R̂ and needs none.
        changes = values.max(["chain", "draw"]) > values.min(["chain", "draw"])
        # A single chain has no R̂, which a notice of its own says.
        is_judged = changes & (sampled.sizes["chain"] > 1)
        is_high = ~(rhat <= limit("rhat"))
        if name in of_cells and is_high.any():
            disagree = chains_disagree(draws_by_element(values), rhat.values.ravel(), number)
            is_high = rhat.copy(data=disagree.reshape(rhat.shape))
        flags["rhat"][str(name)] = is_high & is_judged
        flags["ess"][str(name)] = ~((bulk >= least) & (tail >= least)) & changes
    return flags


def sampling_flags(fitted: Fitted) -> Flags:
    """Elements of the variables that chains have drawn whose R̂ or effective draws are bad."""
    sampled, stats = sampled_variables(fitted), fitted.statistics
    if sampled and "by_chains" in stats:
        # The other draws are independent, and judged by their weights.
        by_chains = stats["by_chains"].values
        sampled = sampled.isel(cell=by_chains) if by_chains.any() else xr.Dataset()
    return flagged_elements(sampled) if sampled and sampled.sizes.get("cell", 1) else {}


def convergence_notices(fitted: Fitted, flags: Flags | None = None) -> list[Notice]:
    """What is wrong with the sampling of a fit, if anything.

    ``"divergences"``, ``"rhat"`` (above 1.01 or not computable), ``"ess"`` (bulk or tail below 400)
    and ``"one-chain"``: errors, since no verdict should rest on such draws. Draws of which none
    varies have no R̂. Group-level effects are not checked; their standard deviations and
    correlations are.
    """
    flags = flags if flags is not None else sampling_flags(fitted)
    found = [*divergence_notices(fitted)]
    if fitted.posterior.sizes["chain"] == 1:
        found.append(notice_of("one-chain"))
    found += weight_notices(fitted)
    if not sampled_variables(fitted):
        names = first_few((p.variable for p in fitted.record.parameters), ", ")
        return [*found, notice_of("rhat", names=names)]
    return [*found, *(one for name, own in flags.items() for one in flag_notices(own, name))]


def divergence_notices(fitted: Fitted) -> list[Notice]:
    """Divergent transitions, counted; of some cells, where they are these cells' alone."""
    stats = fitted.statistics
    # Cells that share nothing have divergences of their own.
    are_apart = "divergences" in stats
    number = int(stats["divergences"].sum() if are_apart else stats["diverging"].sum())
    if number == 0:
        return []
    said = {"number": number, "transitions": "transition" if number == 1 else "transitions"}
    if stats.attrs.get(AGREE) == "all":
        return [notice_of("divergences.agreeing", **said)]
    if are_apart:
        cells = map(str, stats["cell"].values[stats["divergences"].values > 0])
        return [notice_of("divergences", cells, where="", **said)]
    if "divergences_within" not in stats:
        return [notice_of("divergences", where="", **said)]
    if charged := charged_cells(fitted, stats, number):
        return [notice_of("divergences.within", charged, labels=charged, **said)]
    within, nowhere = stats["divergences_within"], int(stats["divergences_nowhere"])
    most = within.sortby(within, ascending=False)
    where = [f"{cell} ({n})" for cell, n in zip(most["cell"].values, most.values, strict=True) if n]
    where += [f"none ({nowhere})"] if nowhere else []
    return [notice_of("divergences", where=f" Attributed to: {first_few(where, ', ')}.", **said)]


def charged_cells(fitted: Fitted, stats: xr.Dataset, number: int) -> list[str]:
    """Cells to which divergences are charged: few, with nearly all of them, and not by chance.

    A step that is too long for all fails now here, now there. So a cell needs several of them, but
    for one whose M the counts do not determine, which is the first to be suspected, and where the
    population is as with longer steps.
    """
    severities = {"warning", "error"} if pools_m(fitted) else {"error"}
    told = [one for one in notices(fitted.tree) if one.severity in severities]
    suspects = {cell for one in told if about_alone(one.code) for cell in one.cells}
    within = stats["divergences_within"]
    fewest = np.where(np.isin(within["cell"].values, [*suspects]), 1, FEWEST_OF_A_CELL)
    is_shared = stats.attrs.get(AGREE) == "population"
    charged = within >= (1 if is_shared else fewest)
    # Each step once, not once for every cell of a person.
    once = stats.get("divergences_shared", within)
    shared = round(float(once.where(~charged, 0).sum()), 6)
    elsewhere = int(stats["divergences_nowhere"]) + shared
    is_few = charged.mean() <= MOST_CHARGED and elsewhere <= MOST_ELSEWHERE * number
    return [*map(str, within["cell"].values[charged.values])] if is_few else []


def weight_notices(fitted: Fitted) -> list[Notice]:
    """Cells whose draws by importance sampling are bad, and that were not sampled by chains."""
    stats = fitted.statistics
    if "pareto_k" not in stats:
        return []
    weighted = ~stats["by_chains"].values
    uneven = weighted & ~(stats["pareto_k"].values <= limit("pareto-k"))
    few = weighted & ~uneven & ~(stats["effective_draws"].values >= limit("ess"))
    names, cells = fitted.record.plotted, stats["cell"].values
    return [
        notice_of(code, tuple(map(str, cells[bad])), **said)
        for code, bad, said in (("pareto-k", uneven, {}), ("ess.cells", few, {"names": names}))
        if bad.any()
    ]


def flag_notices(flags: Mapping[str, xr.DataArray], diagnostic: str) -> list[Notice]:
    """Notices of R̂ or effective sample size: one of variables without a cell, one of cells.

    Variables without a cell, such as coefficients of a population, concern all cells.
    """
    wrong = {name: bad for name, bad in flags.items() if bool(bad.any())}
    of_cells = {name: bad for name, bad in wrong.items() if "cell" in bad.dims}
    of_all = [name for name in wrong if name not in of_cells]
    found = [notice_of(diagnostic, names=first_few(of_all, ", "))] if of_all else []
    if of_cells:
        by_cell = [bad.any([d for d in bad.dims if d != "cell"]) for bad in of_cells.values()]
        cells = sorted({str(x) for bad in by_cell for x in bad["cell"].values[bad.values]})
        found.append(notice_of(OF_CELLS[diagnostic], cells, names=first_few(of_cells, ", ")))
    return found


def variable_notices(fitted: Fitted, flags: Flags | None = None) -> dict[str, list[Notice]]:
    """Notices of every variable of the posterior, from those of the fit and `sampling_flags`."""
    others, of_chains = general_and_chains(fitted)
    flags = {} if not of_chains else flags if flags is not None else sampling_flags(fitted)
    found = {}
    for variable, values in fitted.posterior.items():
        name, is_of_cells = str(variable), "cell" in values.dims
        role, parameter, *_ = fitted.identities.get(name, ("", ""))
        shared = {name, *shared_terms(fitted, parameter)}
        own = sources(fitted.record, name, flags) if is_of_cells else shared
        # An effect is that of a person, a coefficient is all people's.
        is_own = is_of_cells or role == "effect"
        said = [of_cells(one, fitted) if is_own else of_all_people(one, fitted) for one in others]
        if role == "coefficient":
            said = [of_coefficients(one, fitted, name) for one in others]
        found[name] = [*said, *here_and_elsewhere(flags, own)]
    return found


def of_coefficients(notice: Notice, fitted: Fitted, name: str) -> Notice:
    """The notice for coefficients: of those levels that it concerns, if it does single ones."""
    term, labels = fitted.identities[name].term, [*fitted.posterior[name].dims][2:]
    if term not in fitted.cells or len(labels) != 1:
        return of_all_people(notice, fitted)
    own = [*map(str, fitted.posterior[labels[0]].values)]
    levels = fitted.cells[[term]].drop_duplicates()
    concerned = of_levels(notice, fitted, levels, levels[term].map(as_text).tolist())
    if concerned is None:
        return of_all_people(notice, fitted)
    # Without a coefficient of its own, a level is what the others differ from.
    return concerned if {*concerned.cells} <= {*own} else replace(concerned, cells=tuple(own))


def prediction_notices(
    fitted: Fitted, predicted: Mapping[str, xr.DataArray]
) -> dict[str, list[Notice]]:
    """Notices of quantities (chain, draw, cell, ...) that are predicted from the population."""
    others, of_chains = general_and_chains(fitted)
    others = [of_predicted(one, fitted, predicted) for one in others]
    if not of_chains:
        return dict.fromkeys(predicted, others)
    of_population = [str(name) for name, x in fitted.posterior.items() if "cell" not in x.dims]
    flags = flagged_elements(sampled_variables(fitted, of_population))
    needed = parameters_needed(fitted.record)
    # Measures follow from all parameters.
    every = set().union(*needed.values())
    found = {}
    for name, values in predicted.items():
        terms = {term for p in needed.get(name, every) for term in shared_terms(fitted, p)}
        own = [*here_and_elsewhere(flagged_elements(xr.Dataset({name: values})), {name})]
        own += [one for one in here_and_elsewhere(flags, terms) if one.severity == "error"]
        said = {one.code for one in own}
        rest = [one for one in of_chains if one.code not in said]
        softened = [
            notice_of(ELSEWHERE[one.code], names=f"quantities of {first_few(one.cells, ', ')}")
            if one.cells
            else replace(one, severity="warning")
            for one in rest
        ]
        found[name] = [*others, *own, *softened]
    return found


def general_and_chains(fitted: Fitted) -> tuple[list[Notice], list[Notice]]:
    """Notices of a fit: those that concern all that it has, and those of single variables."""
    given, stats = notices(fitted.tree), fitted.tree["sample_stats"]
    if "by_chains" in stats and not stats["by_chains"].any():
        return given, []
    # By code and cells, for an older version had other words.
    of_weights = {(one.code, one.cells) for one in weight_notices(fitted)}
    is_counted = fitted.record.has_ratings
    # Estimates bring those of the draws that they are of, by cell.
    of_chains = [
        one
        for one in given
        if one.code in {"rhat", "ess"}
        and (one.code, one.cells) not in of_weights
        and (is_counted or not one.cells)
    ]
    return [one for one in given if one not in of_chains], of_chains


def of_all_people(notice: Notice, fitted: Fitted) -> Notice:
    """The notice for what all people share: an error of a few cells is a warning, where it is one.

    Divergences of a few cells, and M that the counts of a few do not determine.
    """
    labels = [*notice.cells]
    if notice.code == "divergences" and labels:
        return notice_of("divergences.elsewhere", names=first_few(labels, ", "), labels=labels)
    if not concerns_m_of_cells(notice, fitted):
        return notice
    # How many they are is in the message.
    cells = () if notice.code == "meta-d-sign" else notice.cells
    return replace(notice, severity="warning", cells=cells)


def of_cells(notice: Notice, fitted: Fitted) -> Notice:
    """The notice for quantities of cells: what a population bears is an error of M of its cells."""
    return replace(notice, severity="error") if concerns_m_of_cells(notice, fitted) else notice


def pools_m(fitted: Fitted) -> bool:
    """Whether M is that of a population: a fit of cells that share nothing asks for each."""
    return "meta_d" in fitted.shrunk_over


def concerns_m_of_cells(notice: Notice, fitted: Fitted) -> bool:
    """Whether it names cells of a population whose M must not be used."""
    is_of_m = bool(notice.cells) and about_alone(notice.code) != ""
    return is_of_m and notice.severity != "info" and pools_m(fitted)


def of_predicted(notice: Notice, fitted: Fitted, predicted: Mapping[str, xr.DataArray]) -> Notice:
    """The notice with those predicted cells in which all cells of the fit are that it names.

    An error of counts, such as a scale that one level has reversed, is that of all cells that have
    a part of it.
    """
    cells = next(iter(predicted.values()))["cell"]
    # Levels of a fit that keeps no cells have the labels that the notice names.
    if concerns_m_of_cells(notice, fitted) and cells.isin(notice.cells).any():
        return of_cells(notice, fitted)
    found = of_levels(notice, fitted, cell_table(cells), [*map(str, cells.values)])
    return found or of_all_people(notice, fitted)


def of_levels(
    notice: Notice, fitted: Fitted, table: pd.DataFrame, labels: Sequence[str]
) -> Notice | None:
    """The notice of those rows of a table that it concerns; None where it concerns none."""
    is_named = fitted.posterior["cell"].isin(notice.cells).to_numpy()
    is_of_counts = notice.severity == "error" and notice.code not in OF_PEOPLE
    if not (is_of_counts or notice.code in OF_PEOPLE) or not is_named.any():
        return None
    own = fitted.posterior["cell"].coords
    shared = [str(name) for name in table if name in own]
    shared = [name for name in shared if own[name].attrs.get("role") != "covariate"]
    # All cells agree in the last column.
    rows, texts = (x[shared].map(as_text).assign(all="") for x in (table, fitted.cells))
    groups = texts.assign(is_named=is_named).groupby([*shared, "all"])["is_named"]
    named = (groups.any() if is_of_counts else groups.all()).reset_index()
    is_theirs = rows.merge(named, "left")["is_named"].eq(True).tolist()
    theirs = tuple(label for label, is_own in zip(labels, is_theirs, strict=True) if is_own)
    return of_cells(replace(notice, cells=theirs), fitted) if theirs else None


def here_and_elsewhere(flags: Flags, own: Iterable[str]) -> list[Notice]:
    """Errors of what a quantity rests on, and warnings of what is wrong elsewhere."""
    found = []
    for diagnostic, by_name in flags.items():
        bad = {name: flagged for name, flagged in by_name.items() if bool(flagged.any())}
        rested_on = {name: flagged for name, flagged in bad.items() if name in own}
        found += flag_notices(rested_on, diagnostic)
        rest = [name for name in bad if name not in rested_on]
        if rest:
            found.append(notice_of(ELSEWHERE[diagnostic], names=first_few(rest, ", ")))
    return found


def sources(record: Family, name: str, flags: Flags) -> set[str]:
    """Variables whose draws are checked in the place of those of a variable of the cells."""
    is_checked = any(name in by_name for by_name in flags.values())
    twins = () if is_checked or name not in record.results else record.results[name].convergence_of
    return {name}.union(*(sources(record, twin, flags) for twin in twins if twin != name))


def shared_terms(fitted: Fitted, parameter: str) -> set[str]:
    """Intercept and standard deviations of a parameter."""
    return {
        name
        for name, own in fitted.identities.items()
        if own.parameter == parameter and (own.role == "sd" or own.term == "Intercept")
    }


def parameters_needed(record: Family) -> dict[str, set[str]]:
    """Parameters that each quantity follows from."""
    found = {p.name: {p.name} for p in record.parameters}
    for quantity in record.quantities:
        if quantity.name not in found and found.keys() >= set(quantity.needs):
            found[quantity.name] = set().union(*(found[need] for need in quantity.needs))
    return found
