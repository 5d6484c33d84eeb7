"""Cells that may not be compared as they are: on the same items, or of unequal trials, d′ or c.

Draws and what is compared → list of Notice; coverage of items.
Source: Boehm et al. (2018) for separate fits; Miller (2024) for items; Miller (1955) and Ferro &
Fricker (2012) for what chance raises; Guggenmos (2021) and Rausch et al. (2023) for d′ and c.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import norm

from hmetad.base.coverage import CODE, items_of, shares_of, unequal_items
from hmetad.base.monte_carlo import has_chains
from hmetad.base.notice import Notice, notice_of, notices
from hmetad.base.notice_registry import limit
from hmetad.base.results import about, depends_on_ratings, is_raised_by_chance
from hmetad.base.untrusted import read_attr
from hmetad.base.variable_roles import factor_of_dim
from hmetad.compare.averaging import Compared, counted_trials, numbers_of_cells, trials_of
from hmetad.compare.cells import (
    SAMPLE_DIMS,
    Draws,
    Fits,
    cells_of,
    coordinates_of_cells,
    each_fit,
    fits_in,
    one_variable,
    posterior_of,
    strata_of,
)

type Flags = NDArray[np.bool_]
type Floats = NDArray[np.float64]

TYPE1 = ("dprime", "c")
# Codes of what compared cells must be alike in.
RAISED, RATINGS = "raised-by-chance", "unequal-ratings"
# Sums of weights miss their value by less.
ROUNDING = 1e-9
# Of finding a difference in d′ or c in any of the contrasts, where there is none.
FALSE_ALARM = 0.05
# As many give a mean and an SD well enough, and cost little beside the contrasts themselves.
DRAWS = 1000


def dependence(cells: Compared) -> list[Notice]:
    """Notices of cells that are compared as independent ones and may not be.

    ``"separate-fits"`` where cells agree in a coordinate or fits in levels of a factor, and
    ``"paired-data"`` where the counts say that cells were given the same items.

    Examples
    --------
    >>> from hmetad.compare.averaging import compared_cells
    >>> values = xr.DataArray(
    ...     np.zeros((1, 4, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b"], "model": ("cell", ["m1", "m2"])},
    ...     attrs={"same_items": '[["a", "b"]]'},
    ... )
    >>> cells = compared_cells(values, None, "model", (), (), "equal", independent=True)
    >>> [one.code for one in dependence(cells)]
    ['paired-data']
    """
    if not cells.independent:
        return []
    values, over, held = cells.values, cells.over, cells.held
    labels = values["cell"].values
    others = [x for x in coordinates_of_cells(values) if x not in (over, *held)]
    columns = {name: pd.Series(values[name].values) for name in (*held, *others)}
    alike = {name: column.duplicated(keep=False).to_numpy() for name, column in columns.items()}
    alike = {name: where for name, where in alike.items() if where.any() or name in held}
    fits = fits_in(cells.draws)
    for name in shared_groups(fits) if len(fits) > 1 else []:
        alike.setdefault(name, np.ones(len(labels), dtype=bool))
    is_paired = np.zeros(len(labels), dtype=bool)
    groups = [group for fit in fits for group in read_attr(fit.attrs, "same_items")]
    for stratum in strata_of(cells.design, held) if groups else []:
        for group in groups:
            members = stratum[np.isin(labels[stratum], group)]
            is_paired[members] |= len(members) > 1
    found = []
    if alike:
        concerned = labels[np.any(list(alike.values()), axis=0)].tolist()
        found.append(notice_of("separate-fits", concerned, names=", ".join(alike)))
    if is_paired.any():
        found.append(notice_of("paired-data.draws", labels[is_paired].tolist()))
    return found


def shared_groups(fits: Sequence[Draws]) -> list[str]:
    """Grouping factors, such as subjects, of which all fits have effects for some same levels."""
    levels: list[dict[str, set[Any]]] = []
    for fit in fits:
        posterior = posterior_of(fit)
        factors = {dim: factor_of_dim(str(dim), posterior[dim].attrs) for dim in posterior.dims}
        own = {name: set(posterior[dim].values.tolist()) for dim, name in factors.items() if name}
        levels.append(own)
    common = set.intersection(*(set(one) for one in levels))
    return sorted(name for name in common if set.intersection(*(one[name] for one in levels)))


def carried_notices(values: xr.DataArray, over: str) -> list[Notice]:
    """Notices of draws; that of unequal items is of the levels that are compared."""
    labels = values["cell"].values.tolist()
    items = items_of(values.attrs, over, labels)
    if items is None:
        return notices(values)
    own = unequal_items(over, labels, values[over].values.tolist(), items)
    return [*(one for one in notices(values) if one.code != CODE), *own]


def side_coverage(values: xr.DataArray, over: str, weights: csr_array) -> dict[str, Any]:
    """Coordinates of pairs: the share of items that each side has; none where it is unknown."""
    items = items_of(values.attrs, over, values["cell"].values)
    if items is None:
        return {}
    sides = {"left_coverage": weights > 0, "right_coverage": weights < 0}
    return {name: ("pair", shares_of(used.astype(float) @ items)) for name, used in sides.items()}


def traits_of(draws: Fits, values: xr.DataArray, names: Sequence[str]) -> dict[str, Floats]:
    """What compared cells must be alike in, (cells, numbers), by the code of the notice if not.

    For a quantity of resampling that chance raises it is 1/n: bias falls so, and a weighted mean of
    cells has the mean of it. For one that depends on the number of ratings it is, for each number
    that occurs, whether a cell has it. `names` are the coordinates in use.
    """
    name, fits, found = str(values.name), fits_in(draws), dict[str, Floats]()
    is_raised = is_raised_by_chance(name) and not has_chains(values.attrs)
    if is_raised and all(counted_trials(fit) is not None for fit in fits):
        found[RAISED] = 1 / np.maximum(trials_of(draws, name, names), 1)[:, None]
    own = [one_variable(fit, None if isinstance(fit, xr.DataArray) else name) for fit in fits]
    if depends_on_ratings(name) and all("ratings" in x.attrs and "cell" in x.dims for x in own):
        numbers = numbers_of_cells(draws, name, names, ratings_in)
        found[RATINGS] = (numbers[:, None] == np.unique(numbers)).astype(float)
    return found


def ratings_in(_: Draws, values: xr.DataArray) -> list[int]:
    """Number of ratings of each cell, as attrs say."""
    known: Mapping[str, int] = read_attr(values.attrs, "ratings")
    return [known.get(str(cell), known.get("", 0)) for cell in values["cell"].values]


def are_unlike(code: str, traits: Floats) -> Flags:
    """Whether what stands on the first axis, (compared, ..., numbers), is too unlike.

    Examples
    --------
    >>> are_unlike("raised-by-chance", 1 / np.array([[[250], [300]], [[5000], [310]]])).tolist()
    [True, False]
    """
    least, most = traits.min(axis=0), traits.max(axis=0)
    least = limit(RAISED) * least if code == RAISED else least + ROUNDING
    unlike: Flags = (most > least).any(axis=-1)
    return unlike


def unlike_sides(traits: Mapping[str, Floats], weights: csr_array) -> dict[str, Flags]:
    """Which contrasts have sides that are too unlike, by the code of the notice."""
    left, right = weights.maximum(0), (-weights).maximum(0)
    return {code: are_unlike(code, np.stack([left @ x, right @ x])) for code, x in traits.items()}


def unlike_notices(values: xr.DataArray, concerned: Mapping[str, Sequence[str]]) -> list[Notice]:
    """Notices of contrasts or cells that are too unlike, by code."""
    texts = {RAISED: "raised-by-chance", RATINGS: "unequal-ratings.compared"}
    some = {code: labels for code, labels in concerned.items() if len(labels)}
    return [notice_of(texts[code], x, name=str(values.name)) for code, x in some.items()]


def type1_differences(cells: Compared, weights: csr_array, labels: Sequence[str]) -> list[Notice]:
    """Notice of contrasts of M, or meta-d′, of whose d′ or c the interval, mean ± z·SD, excludes 0.

    Its probability is 95 %, Bonferroni-corrected for all contrasts and both of them. Draws of M
    alone give no notice.

    Examples
    --------
    >>> from hmetad.compare.averaging import compared_cells
    >>> noise = np.random.default_rng(1).normal(0, 0.1, (2, 100, 2))
    >>> fit = xr.Dataset(
    ...     {
    ...         "log_m": (("chain", "draw", "cell"), noise),
    ...         "dprime": (("chain", "draw", "cell"), noise + [1, 2]),
    ...         "c": (("chain", "draw", "cell"), noise),
    ...     },
    ...     {"cell": ["a", "b"]},
    ... )
    >>> difference = csr_array([[1.0, -1.0]])
    >>> cells = compared_cells(fit, "log_m", "cell", (), (), "equal", False)
    >>> type1_differences(cells, difference, ["a − b"])[0].cells
    ('a − b',)
    """
    of = str(cells.values.name)
    if not about(of):
        return []
    is_apart = np.zeros(weights.shape[0], dtype=bool)
    for name in TYPE1:

        def matching_each_m(fit: Draws, name: str = name) -> xr.DataArray | None:
            """Draws of d′ or c; where each response has an M, d′ is the same for both."""
            posterior = posterior_of(fit)
            if isinstance(posterior, xr.DataArray) or name not in posterior:
                return None
            values = posterior[name]
            return values.broadcast_like(posterior[of]) if "cell" in values.dims else None

        type1 = each_fit(cells.draws, matching_each_m)
        if any(one is None for one in (type1.values() if isinstance(type1, dict) else [type1])):
            continue
        found = cells_of(type1, None, (cells.over, *cells.held))
        if found["cell"].values.tolist() == cells.values["cell"].values.tolist():
            drawn = found.transpose(*SAMPLE_DIMS, "cell").values.reshape(-1, found.sizes["cell"])
            is_apart |= excludes_zero(drawn, weights, cells.independent)
    apart = [label for label, holds in zip(labels, is_apart, strict=True) if holds]
    return [notice_of("type1-differs.draws", apart)] if apart else []


def excludes_zero(draws: Floats, weights: csr_array, independent: bool) -> Flags:
    """Which contrasts of the draws (draw, cell) have an interval without 0."""
    # At most DRAWS, evenly spread over all chains.
    draws = draws[:: -(-len(draws) // DRAWS)]
    mean, centred = draws.mean(axis=0), draws - draws.mean(axis=0)
    spread: Floats = centred.var(axis=0) if independent else np.square(weights @ centred.T)
    variance = weights.power(2) @ spread if independent else spread.mean(axis=1)
    clear_z = norm.isf(FALSE_ALARM / 2 / max(1, len(TYPE1) * weights.shape[0]))
    return np.abs(weights @ mean) > clear_z * np.sqrt(variance)
