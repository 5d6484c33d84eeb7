"""What a table cannot tell of the parameters of a model, and ratings that hide how people differ.

Count table, ModelSpec and formulas → list of Notice.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from hmetad.base.notice import Notice, notice_of
from hmetad.rows.duplicates import is_item_name
from hmetad.specs.design import Block, Design, Term
from hmetad.specs.formula import block_factors, formula_columns, parse_formula
from hmetad.specs.spec import ITEM_SD, SHIFT, ModelSpec

type Floats = NDArray[np.float64]

RANK = np.linalg.matrix_rank
# Members of a factor whose shares are this close to the average by chance: one in twenty.
CLOSE = 0.05
# Probability that chance alone has so many of them.
CHANCE = 1e-6
# Members with fewer trials for each rating say nothing.
FEWEST = 5


def identification_notices(
    counts: xr.DataArray, spec: ModelSpec, designs: Mapping[str, Design]
) -> list[Notice]:
    """Notices of parameters that rest on their priors, or that have no maximum.

    Parameters
    ----------
    counts : DataArray
        Count table.
    spec : ModelSpec
    designs : mapping of str to Design
        The formulas, by parameter.

    Returns
    -------
    list of Notice
        ``"not-identified"``, for each such parameter, and for each factor whose effects on d′ and c
        cannot be told apart; ``"held-equal"`` where conditions differ in M alone; ``"same-effect"``
        where people differ in M, but not in what a condition within them does to it;
        ``"constant-slope"`` where a condition has effects within people, and varies in none of
        them.
    """
    said, ratings = list[Notice](), counts.sizes["rating"]
    cells, names = counts.sizes["cell"], [p.name for p in spec.record.parameters]
    levels = np.inf
    if any(p.levels_needed > 1 for p in spec.record.parameters):
        # The most values of d′ that cells may have which share all other parameters.
        shared = rows_alike([designs.get(name) for name in names if name != "dprime"], cells)
        own = rows_alike([designs.get("dprime")], cells)
        levels = max(len(set(own[shared == group])) for group in set(shared))
    for one in spec.record.parameters:
        if ratings < one.ratings_needed:
            about = {"parameter": one.name, "needed": one.ratings_needed, "ratings": ratings}
            said.append(notice_of("not-identified.ratings", **about))
        if levels < one.levels_needed:
            about = {"parameter": one.name, "needed": one.levels_needed}
            said.append(notice_of("not-identified.levels", **about))
    said += [*held_equal_notices(counts, spec, designs), *constant_slope_notices(designs)]
    if (focus := designs.get(spec.record.parameter_of_interest)) is not None:
        said += same_effect_notices(focus)
    if SHIFT in spec.record.from_counts:
        said.append(notice_of("conditional-dprime"))
    factors = one_stimulus_factors(counts, designs)
    return said + [notice_of("not-identified.stimulus", factor=factor) for factor in factors]


def held_equal_notices(
    counts: xr.DataArray, spec: ModelSpec, designs: Mapping[str, Design]
) -> list[Notice]:
    """Notice of parameters that are held equal over conditions between which M may differ.

    What conditions do to d′ or to criteria then comes out as a difference in M.
    """
    focus, cells = spec.record.parameter_of_interest, counts.sizes["cell"]
    named = formula_columns([spec.formula.get(focus, "1")])
    columns = {str(x): own.values.tolist() for x, own in counts.coords.items() if x in named}
    found: dict[str, None] = {}
    held = []
    for parameter in [p.name for p in spec.record.parameters if p.name in designs]:
        if parameter == ITEM_SD and spec.formula[parameter] == "1":
            # How much items differ, which is the same for all observers.
            continue
        own = rows_alike([designs[parameter]], cells).tolist()
        both = {name: {*zip(own, levels, strict=True)} for name, levels in columns.items()}
        varied = [name for name, pairs in both.items() if len(pairs) > len({*own})]
        if varied and parameter != focus:
            held.append(parameter)
            found |= dict.fromkeys(varied)
    if not held:
        return []
    said = {"parameters": ", ".join(held), "columns": ", ".join(found)}
    said |= {"symbol": spec.record.symbol, "every": ", ".join(designs)}
    return [notice_of("held-equal", **said)]


def same_effect_notices(design: Design) -> list[Notice]:
    """Notice of terms that vary within the groups of a factor and have no effects of the groups.

    Items are no people: that what a condition does is the same in each is not looked at. Source:
    Barr, Levy, Scheepers & Tily (2013).
    """
    found: dict[str, Notice] = {}
    start = "1" if any(term.name == "Intercept" for term in design.common) else "0"
    for block in design.blocks:
        parts = {*block.factor.split(":")}
        if block.factor in found or any(map(is_item_name, parts)):
            continue
        nested = [one for one in design.blocks if parts <= {*one.factor.split(":")}]
        concerned = {x.name: groups_alike(x, block, nested) for x in design.common}
        terms = [name for name, groups in concerned.items() if groups]
        if terms:
            found[block.factor] = notice_of(
                "same-effect",
                terms=" and ".join(terms),
                parameter=design.parameter,
                factor=block.factor,
                example=" + ".join([start, *terms]),
                number=len(set().union(*concerned.values())),
                all=len(block.groups),
            )
    return [*found.values()]


def constant_slope_notices(designs: Mapping[str, Design]) -> list[Notice]:
    """Notice of effects of groups on what is constant within each, and of the formula meant.

    What an effect is about is then, in every group, the same as what others are about.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name, design in designs.items():
        parsed, lost = parse_formula(design.formula), list[str]()
        meant, known = [parsed.common.text], dict[str, Floats]()
        written = [(one, factor) for one in parsed.group_terms for factor in block_factors(one)]
        for (group, factor), block in zip(written, design.blocks, strict=True):
            kept = []
            for term in block.terms:
                others = known.setdefault(factor, np.zeros((design.size, 1)))
                both = np.hstack([others, term.columns])
                if term.name == "1" or any(RANK(both[x]) > RANK(others[x]) for x in rows_of(block)):
                    kept.append(term.name)
                    known[factor] = both
                else:
                    lost.append(f"{term.name} in every {factor}")
            text = " + ".join(kept) if len(kept) < len(block.terms) else group.expression.text
            bar = "|" if group.is_correlated or len(kept) == 1 else "||"
            meant += [f"({text} {bar} {factor})"] if kept else []
        if lost:
            found.setdefault((", ".join(lost), " + ".join(meant)), []).append(name)
    return [
        notice_of("constant-slope", terms=terms, meant=meant, parameters=", ".join(names))
        for (terms, meant), names in found.items()
    ]


def rows_of(block: Block) -> list[NDArray[np.intp]]:
    """Cells of each group of a block."""
    sizes = np.bincount(block.index, minlength=len(block.groups))
    return np.split(np.argsort(block.index, kind="stable"), sizes.cumsum()[:-1])


def groups_alike(term: Term, block: Block, nested: Sequence[Block]) -> set[int]:
    """Groups of a block within which a term varies, and no effects of the group make it up."""
    found = set[int]()
    for number, rows in enumerate(rows_of(block)):
        columns = term.columns[rows]
        if len(rows) < 2 or not np.ptp(columns, axis=0).any():
            continue
        effects = np.hstack(
            [
                one.columns[rows] * (one.index[rows] == group)[:, None]
                for one in nested
                for group in np.unique(one.index[rows])
            ]
        )
        if RANK(np.hstack([effects, columns])) > RANK(effects):
            found.add(number)
    return found


def one_stimulus_factors(counts: xr.DataArray, designs: Mapping[str, Design]) -> list[str]:
    """Factors with effects on d′ and on c whose groups were each shown one stimulus alone.

    The likelihood has d′/2 - c of stimulus S2 and d′/2 + c of S1, and nothing else of the two.
    """
    if not {"dprime", "c"} <= set(designs):
        return []
    shown = counts.sum(["response", "rating"]).transpose("cell", "stimulus").values
    both = {block.factor for block in designs["c"].blocks}
    found = []
    for block in designs["dprime"].blocks:
        by_group = np.zeros((len(block.groups), shown.shape[1]))
        np.add.at(by_group, block.index, shown)
        if block.factor in both and not (by_group > 0).all(axis=1).any():
            found.append(block.factor)
    return found


def rows_alike(designs: list[Design | None], cells: int) -> NDArray[np.int64]:
    """Number of a cell's group: cells of a group have the same rows in all designs."""
    rows = [np.zeros((cells, 0))]
    for design in designs:
        if design is None:
            rows.append(np.arange(cells, dtype=float)[:, None])
            continue
        rows.append(design.columns)
        for block in design.blocks:
            rows += [block.columns, block.index[:, None].astype(float)]
    return np.unique(np.hstack(rows), axis=0, return_inverse=True)[1].ravel()


def even_ratings_notices(counts: xr.DataArray, designs: Mapping[str, Design]) -> list[Notice]:
    """Notice where the cells, or the members of a factor with effects, use ratings too much alike.

    Quantiles of each person leave shares of ratings alike; a model in which people differ takes
    that for people who are alike.
    """
    blocks = [block for design in designs.values() for block in design.blocks]
    if not blocks:
        return []
    others = [dim for dim in counts.dims if dim not in ("cell", "rating")]
    used = counts.sum(others).transpose("cell", "rating").to_numpy()
    rows = {"cell": np.arange(len(used)), **{block.factor: block.index for block in blocks}}
    for name, index in rows.items():
        table = np.zeros((index.max() + 1, used.shape[1]), dtype=np.int64)
        np.add.at(table, index, used)
        if are_too_even(table):
            return [notice_of("even-ratings", name=name)]
    return []


def are_too_even(table: NDArray[np.int64]) -> bool:
    """Whether more rows are close to the average shares than chance brings about.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> drawn = rng.multinomial(400, np.full(6, 1 / 6), size=30)
    >>> are_too_even(drawn), are_too_even(np.full((30, 6), 67) + rng.integers(-1, 2, (30, 6)))
    (False, True)
    """
    ratings = table.shape[1]
    known = table[table.sum(axis=1) >= FEWEST * ratings]
    if ratings < 3 or len(known) < 3:
        return False
    expected = known.sum(axis=1, keepdims=True) * known.sum(axis=0) / known.sum()
    distance = ((known - expected) ** 2 / np.where(expected > 0, expected, 1)).sum(axis=1)
    close = distance < chi2.ppf(CLOSE, ratings - 1)
    return bool(binom.sf(close.sum() - 1, len(known), CLOSE) < CHANCE)
