"""Variables of results: name, meaning, unit, source, symbol, and where each is shown.

The table in results.toml → one record per result; name → the attrs of its variable.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from hmetad.base.errors import ChoiceError

Shown = Literal["", "estimate", "interval"]

TABLE = Path(__file__).with_name("results.toml")
# Keys that a result takes from the first one of its name, and keys that it takes from its section.
OF_NAME = (
    *("means", "unit", "symbol", "heading", "column", "about"),
    *("best", "raised_by_chance", "of_ratings", "debiased", "chance", "question", "axis", "log_of"),
)
OF_SECTION = ("title", "function", "measured", "stimulus", "source", "unit")

# Functions of responses alone.
OF_RESPONSES = ("measures.sdt.sdt", "measures.catalogue.numbers_of_trials")

# Results of likelihoods that a user registered, by name.
REGISTERED: dict[str, "Result"] = {}


@dataclass(frozen=True)
class Result:
    """A variable of what a function returns.

    Parameters
    ----------
    section, name : str
        Functions may have results of the same name: the section tells them apart.
    means : str
        A few words.
    title : str
        Of the table that it belongs to.
    unit : str
        "1" where it has none.
    source, symbol, heading, column : str
    page, terminal : {"", "estimate", "interval"}
        How it is shown in the tables of a page, and by `hmetad measures`.
    about : {"", "M", "meta-d′"}
        Set where the result has no meaning where d′ is not above 0.
    best : {"", "more", "less"}
        Which end is better.
    raised_by_chance : bool
        Whether it is estimated too large, the more so the fewer trials there are.
    of_ratings : bool
        Whether it depends on the number of ratings.
    debiased : str
        Name of the measure that ranks and gates take instead of it.
    chance : float or None
        Its value where answers, or confidence, say nothing.
    question, axis : str
        What a reader chooses by it, and what stands on its axis.
    log_of : str
        The result that it is the logarithm of; empty for others.
    function : str
        Its place in hmetad, such as "measures.type2.auroc2"; `options` are its arguments.
    options : mapping
    measured : bool
        Whether `measure` calls that function.
    stimulus : bool
        Whether it needs a table with a stimulus.
    """

    section: str
    name: str
    means: str
    title: str
    unit: str = "1"
    source: str = ""
    symbol: str = ""
    heading: str = ""
    column: str = ""
    page: Shown = ""
    terminal: Shown = ""
    about: Literal["", "M", "meta-d′"] = ""
    best: Literal["", "more", "less"] = ""
    raised_by_chance: bool = False
    of_ratings: bool = False
    debiased: str = ""
    chance: float | None = None
    question: str = ""
    axis: str = ""
    log_of: str = ""
    function: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    measured: bool = False
    stimulus: bool = False


def find_result(name: str, section: str = "") -> Result | None:
    """Result of this name, of a section or the first of all; None where there is none.

    Examples
    --------
    >>> find_result("dprime").means, find_result("dprime", "uvsdt").means
    ('sensitivity d′', 'distance of the means')
    >>> find_result("reaction_time") is None
    True
    """
    of_name = by_name().get(name, ())
    if section:
        return next((result for result in of_name if result.section == section), None)
    return of_name[0] if of_name else REGISTERED.get(name)


def attrs_of(name: str, section: str = "", /, **values: object) -> dict[str, str]:
    """Attrs of the variable: long_name, units and, where there is one, source.

    Parameters
    ----------
    name, section : str
        As in `find_result`; there has to be one.
    **values : object
        What stands in braces in the table.

    Examples
    --------
    >>> attrs_of("ece")["long_name"], attrs_of("trials")
    ('expected calibration error', {'long_name': 'number of trials', 'units': 'trials'})
    """
    found = find_result(name, section)
    assert found is not None, f"no result {name} in {section or 'any section'}"
    source = {"source": found.source.format_map(values)} if found.source else {}
    return {"long_name": found.means.format_map(values), "units": found.unit, **source}


def about(name: str) -> str:
    """M or meta-d′, for quantities without a meaning where d′ is not above 0; else empty.

    Examples
    --------
    >>> about("log_m"), about("meta_d"), about("dprime"), about("reaction_time")
    ('M', 'meta-d′', '', '')
    """
    found = find_result(name)
    return "" if found is None else found.about


def best_end(name: str) -> Literal["", "more", "less"]:
    """Whether more or less of a quantity is better; empty where neither is.

    Examples
    --------
    >>> best_end("auroc2"), best_end("brier"), best_end("c")
    ('more', 'less', '')
    """
    return next((result.best for result in by_name().get(name, ()) if result.best), "")


def is_raised_by_chance(name: str) -> bool:
    """Whether a quantity is estimated too large, the more so the fewer trials there are.

    Examples
    --------
    >>> is_raised_by_chance("ece"), is_raised_by_chance("rmi"), is_raised_by_chance("brier")
    (True, True, False)
    """
    return any(result.raised_by_chance for result in by_name().get(name, ()))


def depends_on_ratings(name: str) -> bool:
    """Whether a quantity depends on the number of ratings, and on where they are cut.

    Examples
    --------
    >>> depends_on_ratings("auroc2"), depends_on_ratings("log_m")
    (True, False)
    """
    return any(result.of_ratings for result in by_name().get(name, ()))


def rests_on_confidence(name: str) -> bool:
    """Whether a quantity that is measured rests on confidence, and not on responses alone.

    Examples
    --------
    >>> rests_on_confidence("auroc2"), rests_on_confidence("dprime"), rests_on_confidence("mine")
    (True, False, True)
    """
    found = find_result(name)
    return name != "accuracy" and (found is None or found.function not in OF_RESPONSES)


def debiased_names() -> set[str]:
    """Names of the measures that ranks and gates take in the place of others.

    Examples
    --------
    >>> sorted(debiased_names())
    ['ece_debiased', 'reliability_debiased']
    """
    return {x.debiased for x in results() if x.debiased}


def refuse_biased(quantity: str, argument: str) -> None:
    """Refuse to rank by, or to gate on, a quantity whose place another one takes.

    Examples
    --------
    >>> refuse_biased("ece", "var")
    Traceback (most recent call last):
    hmetad.InputError: var: Take ece_debiased. Expected a measure with less of that bias, got \
'ece', which chance raises the more the fewer trials there are.
    """
    name = quantity.removeprefix("log ratio of ")
    instead = next((result.debiased for result in by_name().get(name, ()) if result.debiased), "")
    if instead:
        got = f"{quantity!r}, which chance raises the more the fewer trials there are"
        raise ChoiceError(argument, got, "a measure with less of that bias", f"Take {instead}.")


def names_of(section: str) -> list[str]:
    """Names of the results of a section, in the order of the table.

    Examples
    --------
    >>> names_of("information_bounds")
    ['lower', 'upper']
    """
    return [result.name for result in results() if result.section == section]


def shown_in(section: str) -> list[str]:
    """Names of the results of a section that tables show.

    Examples
    --------
    >>> shown_in("rank")
    ['mean_rank', 'rank_lower', 'rank_upper', 'p_best', 'verdict']
    """
    return [result.name for result in results() if result.section == section and result.page]


def type2_functions() -> list[str]:
    """Names of the functions that measure right and wrong trials, in the order of the table.

    Examples
    --------
    >>> type2_functions()[:3]
    ['auroc2', 'gamma', 'type2_zroc']
    """
    measured = [x.function for x in results() if x.measured and not x.stimulus]
    # What only counts the trials is no public function.
    public = [x for x in measured if not x.startswith("measures.catalogue.")]
    return [x.rpartition(".")[2] for x in dict.fromkeys(public)]


@cache
def by_name() -> Mapping[str, Sequence[Result]]:
    """Results by name, in the order of the table."""
    found: dict[str, list[Result]] = {}
    for result in results():
        found.setdefault(result.name, []).append(result)
    return found


@cache
def results() -> tuple[Result, ...]:
    """Every result in the order of the table, completed from its section and its first namesake.

    A unit is that of the result, else of its section, else of the first result of its name.
    """
    found, first = [], dict[str, dict[str, Any]]()
    for section, entry in tomllib.loads(TABLE.read_text(encoding="utf-8")).items():
        shared = {key: entry[key] for key in OF_SECTION if key in entry}
        for name, own in entry["results"].items():
            before = first.get(name, {})
            record = {key: before[key] for key in OF_NAME if key in before} | shared | own
            first.setdefault(name, record)
            options = tuple(record.pop("with", {}).items())
            found.append(Result(section, name, options=options, **record))
    return tuple(found)
