"""Tables drawn from the counts of one cell: bootstrap, Dirichlet posterior, permutation null.

Array of counts (2, 2, K) or (2, K) and a generator → arrays of counts (n, ...).
Source: Efron & Tibshirani (1993) for the bootstrap; Rubin (1981) for the Dirichlet posterior.
"""

import secrets
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hmetad.counts.checks import whole_number

__all__ = ["Hold", "Kind", "cell_generator", "draw_tables", "seed_entropy"]

Kind = Literal["bootstrap", "dirichlet", "permutation"]
Hold = Literal["none", "stimulus"]


def draw_tables(
    values: NDArray[Any],
    n: int,
    generator: np.random.Generator,
    *,
    kind: Kind = "bootstrap",
    hold: Hold = "none",
) -> NDArray[Any]:
    """Tables drawn from the counts of one cell.

    Parameters
    ----------
    values : array, shape (2, 2, K) or (2, K)
        Trials by stimulus, response and rating, or by correctness and rating.
    n : int
        Number of tables.
    generator : numpy.random.Generator
    kind, hold : str, optional
        As in `resample`.

    Returns
    -------
    array, shape (n, *values.shape)
        Whole numbers, but for Dirichlet draws.

    Examples
    --------
    >>> draw_tables(np.array([[4, 1], [2, 9]]), 3, cell_generator(1, 0)).sum(axis=(1, 2))
    array([16, 16, 16])
    """
    if kind == "permutation":
        # (stimulus, response, rating) by response; a type-2 table is one of them.
        sides = values[:, None] if values.ndim == 2 else values
        dealt = [permute_rows(sides[:, r], n, generator) for r in range(sides.shape[1])]
        return np.stack(dealt, axis=2).reshape(n, *values.shape)
    rows = values.reshape(2, -1) if hold == "stimulus" else values.reshape(1, -1)
    draw = multinomial if kind == "bootstrap" else dirichlet
    drawn = [draw(row, n, generator) for row in rows]
    return np.stack(drawn, axis=1).reshape(n, *values.shape)


def cell_generator(seed: int, position: int) -> np.random.Generator:
    """Random numbers of one cell; they do not depend on the draws of other cells.

    Parameters
    ----------
    seed : int
        Seed of the whole table.
    position : int
        Position of the cell.

    Examples
    --------
    >>> bool(cell_generator(1, 7).random() == cell_generator(1, 7).random())
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(position,)))


def seed_entropy(seed: int | None) -> int:
    """Seed as given, or one made up.

    Examples
    --------
    >>> seed_entropy(7)
    7
    """
    return secrets.randbits(128) if seed is None else whole_number("seed", seed, 0)


def permute_rows(table: NDArray[Any], n: int, generator: np.random.Generator) -> NDArray[Any]:
    """Ratings (2, K) permuted between the two rows, each with as many trials as before."""
    colors = table.sum(axis=0)
    first = generator.multivariate_hypergeometric(colors, int(table[0].sum()), size=n)
    return np.stack([first, colors - first], axis=1)


def multinomial(row: NDArray[Any], n: int, generator: np.random.Generator) -> NDArray[Any]:
    """Bootstrap draws of a row of counts; a row without trials stays as it is."""
    total = row.sum()
    if total == 0:
        return np.zeros((n, len(row)), dtype=np.int64)
    return generator.multinomial(int(total), row / total, size=n)


def dirichlet(row: NDArray[Any], n: int, generator: np.random.Generator) -> NDArray[Any]:
    """Dirichlet draws of a row of counts, as counts; an outcome without trials stays 0."""
    gammas = generator.standard_gamma(row, size=(n, len(row)))
    sums = gammas.sum(axis=1, keepdims=True)
    return row.sum() * gammas / np.where(sums == 0, 1.0, sums)
