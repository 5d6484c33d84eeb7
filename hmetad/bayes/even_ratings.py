"""Ratings that were made of confidence by quantiles of each person.

Count table and formulas → notices. A model in which people differ expects shares of ratings to
differ between them. Quantiles of each person leave the shares alike, and the model takes that for
people who are alike.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from hmetad.notice import Notice, notice_of
from hmetad.specs.design import Design

__all__ = ["even_ratings_notices"]

# Members of a factor whose shares are this close to the average by chance: one in twenty.
CLOSE = 0.05
# Probability that chance alone has so many of them.
CHANCE = 1e-6
# Members with fewer trials for each rating say nothing.
FEWEST = 5


def even_ratings_notices(counts: xr.DataArray, designs: Mapping[str, Design]) -> list[Notice]:
    """Notice where the cells, or the members of a factor with effects, use ratings too much alike.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating).
    designs : mapping of str to Design
        Formulas evaluated on the cells, by parameter.

    Returns
    -------
    list of Notice
    """
    blocks = [block for design in designs.values() for block in design.blocks]
    if not blocks:
        return []
    used = counts.sum(["stimulus", "response"]).transpose("cell", "rating").to_numpy()
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
