"""A study in words: which columns are conditions, groups and predictors, as formulas of a model.

Names of columns, a count table and ModelSpec → ModelSpec whose parameters all have these columns in
their formulas, and notices of the formulas made. Conditions vary within people and have an effect
in each; groups vary between people. Source: Barr, Levy, Scheepers & Tily (2013).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import itemgetter

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.errors import KindError, ModelError, RepeatError, listed_both
from hmetad.base.notice import Notice, notice_of, with_notices
from hmetad.rows.duplicates import is_item_name
from hmetad.specs.design import (
    cell_table,
    group_labels,
    refuse_other_tables,
    refuse_unknown_column,
)
from hmetad.specs.formula import GroupTerm, bracket, formula_columns, parse_formula, quote
from hmetad.specs.spec import ITEM_SD, OF_ITEMS, ModelSpec, variables_with_prior

type Term = tuple[str, ...]
type Columns = str | Sequence[str]

LEVELS, WITHIN = "levels, as text such as 'level 1'", "a column that varies within people"
MOST_CODES = 10
ROLES = ("conditions", "groups", "predictors", "correlated")
# Signs between names of columns, but for those within backticks.
PLUS, TIMES = (re.compile(rf"{sign}(?=[^`]*(?:`[^`]*`[^`]*)*$)") for sign in (r"\+", r"\*"))


def study_of(
    counts: xr.DataArray, spec: ModelSpec, *words: Columns | None
) -> tuple[xr.DataArray, ModelSpec, dict[str, str]]:
    """Counts with notices of a design, the model with its formulas, and attrs of a result.

    The words are columns by role, in the order of `ROLES`.

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> from hmetad.specs.loading import load_model
    >>> coords = {"subject": ["1", "1", "2", "2"], "task": ["a", "b"] * 2}
    >>> counts = simulate_counts([2.0, 1.0, 1.8, 0.9], coords=coords, seed=1)
    >>> study_of(counts, load_model("group"), "task", (), (), None)[1].formula["c"]
    '1 + S(task) + (1 + S(task) || subject)'
    """
    by_role = zip(ROLES, words, strict=True)
    given = {role: [x] if isinstance(x, str) else [*x] for role, x in by_role if x}
    if not given:
        return counts, spec, {}
    refuse_other_tables(counts, spec.record.layout)
    cells = cell_table(counts)
    terms = {role: terms_of(texts, [*cells]) for role, texts in given.items()}
    for role, name in [(role, x) for role, own in terms.items() for term in own for x in term]:
        refuse_unknown_column(role, name, cells)
    correlated = [*chain(*terms.pop("correlated", []))]
    if len(correlated) > 1:
        step = "Name one of them here, and all in conditions."
        raise KindError("correlated", ", ".join(correlated), "one condition", step)
    conditions = [*terms.pop("conditions", []), tuple(correlated)]
    study = Study(cells, spec, {"conditions": conditions, **terms}, "".join(correlated))
    study.refuse_people()
    for name, role in study.roles.items():
        study.refuse_column(name, role)
    noticed = with_notices(counts, study.notices())
    return noticed, study.model, {"design": json.dumps(given)}


def terms_of(columns: Columns | None, known: Iterable[str]) -> list[Term]:
    """Columns of each term of a role; those of an interaction have * between them."""
    texts, names = [columns] if isinstance(columns, str) else columns or (), {*known}
    parts = [x for text in texts for x in ([text] if text in names else PLUS.split(text))]
    split = [[part] if part in names else TIMES.split(part) for part in parts]
    return [tuple(x if x in names else x.strip(" `") for x in term) for term in split]


def widest(terms: Iterable[Term]) -> list[Term]:
    """Terms, each once, without those that others contain."""
    found = [*{frozenset(term): term for term in terms if term}.values()]
    return [term for term in found if not any({*term} < {*other} for other in found)]


@dataclass(frozen=True)
class Study:
    """Cells, a card, and the terms that words name by role; of `correlated` people have values."""

    cells: pd.DataFrame
    spec: ModelSpec
    terms: Mapping[str, list[Term]]
    correlated: str

    @cached_property
    def roles(self) -> dict[str, str]:
        """Role of each column: where it stands alone, else where an interaction first names it."""
        found: dict[str, str] = {}
        by_role = [(len(term), role, term) for role, own in self.terms.items() for term in own]
        for number, role, term in sorted(by_role, key=itemgetter(0)):
            for name in term:
                if found.setdefault(name, role) != role and number == 1:
                    step = f"Name {name!r} alone in one of them."
                    got = f"{name!r} among {found[name]} and {role}"
                    raise RepeatError(role, got, "one role for each column", step)
        return found

    @cached_property
    def brackets(self) -> list[GroupTerm]:
        """Group terms of the card's formulas."""
        parsed = map(parse_formula, self.spec.formula.values())
        return [group for one in parsed for group in one.group_terms]

    @cached_property
    def people(self) -> Term:
        """Columns whose combinations are the people of the card; none without a population."""
        factors = [group.factors[-1] for group in self.brackets]
        return next((x for x in factors if not any(map(is_item_name, x))), ())

    @cached_property
    def of_card(self) -> set[str]:
        """Columns that the card's formulas have as predictors: what they say of these stays."""
        inside = {name for group in self.brackets for name in group.expression.columns}
        return formula_columns(self.spec.formula.values()) | inside

    def several(self, columns: Sequence[str]) -> pd.DataFrame:
        """Whether cells that are alike in these columns have several levels of each other one."""
        return self.cells.groupby(np.array(group_labels(self.cells, columns))).nunique() > 1

    @cached_property
    def added(self) -> list[Term]:
        """Terms that the card lacks."""
        terms = [term for own in self.terms.values() for term in own]
        return widest(term for term in terms if not {*term} <= self.of_card)

    @cached_property
    def within(self) -> list[Term]:
        """The same of the columns that vary within people."""
        varied = self.several(self.people).any() & bool(self.people)
        return widest(tuple(x for x in term if varied[x]) for term in self.added)

    def refuse_people(self) -> None:
        """Raise where cells are of people, and the card has no effects of them."""
        for name in self.people:
            refuse_unknown_column(f"card {self.spec.name}", name, self.cells)
        levels = [name for name, role in self.roles.items() if role != "predictors"]
        left = self.several(levels).any().drop([*levels, "options"], errors="ignore")
        if not self.people and (left.any() or self.spec.formula):
            got = f"{self.spec.name!r} for cells that differ in {', '.join(left.index[left])} too"
            cards = "a card such as group, or pda_group for pda"
            steps = (f"Use {option} with {cards}." for option in ("fit", "hmetad fit --model"))
            raise ModelError("model", got, "a card with effects of people", *steps)

    def refuse_column(self, name: str, role: str) -> None:
        """Raise where a column is not what its role says; groups are checked with the formulas."""
        values, varies = self.cells[name], bool(self.several(self.people)[name].any())
        numbers = pd.to_numeric(values, errors="coerce")
        is_text = values.dtype.kind == "b" or bool(numbers.isna().any())
        # Columns that a file is grouped by are text: a few whole numbers there may be codes.
        is_coded = values.dtype.kind not in "iuf" and bool((numbers % 1 == 0).all())
        most = MOST_CODES if varies else len(self.several(self.people)) / 2
        is_number = not is_text and not (is_coded and values.nunique() <= most)
        by_role = "conditions" if varies else "groups"
        one = f"{name!r}, of which each {':'.join(self.people)} has one level"
        checks = [
            (self.people == (name,), f"{name!r}, the people", "a column that they share", ""),
            (values.nunique() < 2, f"{name!r} with one value", "two or more", ""),
            (role == "predictors" and is_text, f"text in {name!r}", "numbers", by_role),
            (role != "predictors" and is_number, f"numbers in {name!r}", LEVELS, "predictors"),
            (role == "conditions" and self.people and not varies, one, WITHIN, "groups"),
        ]
        for is_wrong, got, allowed, meant in checks:
            if is_wrong and name not in self.of_card:
                steps = listed_both(meant, [name]) if meant else ("another column",)
                raise KindError(role, got, allowed, *(f"Write {step}." for step in steps))

    def text_of(self, term: Term) -> str:
        """A term as formulas have it."""
        scaled = {name for name in term if self.roles[name] == "predictors"}
        return "*".join(f"{'scale' if x in scaled else 'S'}({quote(x)})" for x in term)

    @cached_property
    def model(self) -> ModelSpec:
        """The card with the terms in its formulas, and with its priors of variables that stay."""
        spec, of_items = self.spec, (*OF_ITEMS, ITEM_SD)
        plain = {**spec.formula} or dict.fromkeys(spec.formula_parameters, "1")
        formula = {x: own if x in of_items else self.formula(own) for x, own in plain.items()}
        groups = [x for x, role in self.roles.items() if role == "groups" and self.people]
        bare = replace(spec, formula=formula, between=(*spec.between, *groups), priors={})
        left = {*map(spec.named, variables_with_prior(bare))}
        return replace(bare, priors={x: own for x, own in spec.priors.items() if x in left})

    def formula(self, own: str) -> str:
        """Formula of a parameter with the terms, and with those within people in brackets."""
        parsed, parts = parse_formula(own), list[str]()
        for group in parsed.group_terms:
            effects, bar = [group.expression.text], "|" if group.is_correlated else "||"
            if self.within and not any(map(is_item_name, group.factors[-1])):
                effects += map(self.text_of, self.within)
                bar = bar if group.written != "1" else "||"
                if self.correlated not in ("", *self.of_card) and group.written == "1":
                    effects, bar = self.values_at_levels(), "|"
            parts += [bracket(" + ".join(effects), bar, columns) for columns in group.factors]
        return " + ".join([parsed.common.text, *map(self.text_of, self.added), *parts])

    def values_at_levels(self) -> list[str]:
        """Effects of a person: a value at each level of the correlated condition, and the rest."""
        level = quote(self.correlated)
        found = ["0", level]
        for term in self.within:
            rest = self.text_of(tuple(name for name in term if name != self.correlated))
            if rest:
                found.append(f"{level}:({rest})" if self.correlated in term else rest)
        return found

    def notices(self) -> list[Notice]:
        """Notices of the formulas made, of effects not among them, and of people in one level."""
        formulas, by_formula = self.model.formula, dict[str, list[str]]()
        for name in dict.fromkeys([*self.model.parameters, *formulas]):
            by_formula.setdefault(formulas.get(name, ""), []).append(name)
        said = [
            notice_of("design" if text else "design.free", parameters=", ".join(x), formula=text)
            for text, x in by_formula.items()
        ]
        groups = [name for name, role in self.roles.items() if role == "groups"]
        for name in [x for x, role in self.roles.items() if role == "conditions"]:
            apart = [x for x in groups if not any({name, x} <= {*term} for term in self.added)]
            said += [notice_of("design.additive", first=name, second=x) for x in apart]
            alone = ~self.several(self.people)[name] & bool(self.people)
            about = {"number": int(alone.sum()), "all": len(alone), "column": name}
            about["factor"] = ":".join(self.people)
            said += [notice_of("design.one-level", **about)] if alone.any() else []
        return said
