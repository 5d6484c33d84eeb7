"""Covariance of estimates in blocks that share nothing but coefficients.

NormalModel and SDs of groups → log determinants, quadratic forms and solutions, of which each
block is computed by itself, and coefficients are added by Woodbury's identity.
Source: Petersen & Pedersen (2012), 3.2.2.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hmetad.specs.design import Block

__all__ = ["Members", "covariance_blocks", "determinant_and_form", "members_of", "solved"]

type Floats = NDArray[np.float64]
# Cells of the blocks of one size, (blocks, size).
type Members = NDArray[np.intp]


def members_of(covariance: Floats, blocks: tuple[Block, ...]) -> tuple[Members, ...]:
    """Cells that errors or effects of groups tie together, for each size of a block.

    Examples
    --------
    >>> [x.tolist() for x in members_of(np.eye(3) + np.diag([1, 0], 1) + np.diag([1, 0], -1), ())]
    [[[2]], [[0, 1]]]
    """
    tied = covariance != 0
    for block in blocks:
        tied |= block.index[:, None] == block.index
    number, label = connected_components(csr_array(tied), directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label, minlength=number)
    ends = [0, *np.cumsum(sizes).tolist()]
    cells = [order[start:stop] for start, stop in pairwise(ends)]
    return tuple(
        np.array([own for own in cells if len(own) == size]) for size in sorted({*sizes.tolist()})
    )


def covariance_blocks(
    covariance: Floats, blocks: tuple[Block, ...], factors: list[Floats], members: Members
) -> Floats:
    """Covariance of the cells of blocks without that of coefficients, (points, blocks, s, s).

    Parameters
    ----------
    covariance : array, shape (cells, cells)
        Of the errors.
    blocks : tuple of Block
    factors : list of array, shape (points, effects, effects)
        Cholesky factors of the covariance of the effects of each.
    members : array of int, shape (blocks, s)
    """
    whole = covariance[members[:, :, None], members[:, None]][None]
    for block, factor in zip(blocks, factors, strict=True):
        half = block.columns[members] @ factor[:, None]
        group = block.index[members]
        together = group[:, :, None] == group[:, None]
        whole = whole + (half @ np.swapaxes(half, -1, -2)) * together
    number = len(factors[0]) if factors else 1
    return np.asarray(np.broadcast_to(whole, (number, *whole.shape[1:])))


def determinant_and_form(
    parts: Iterator[tuple[Members, Floats]],
    columns: Floats,
    rest: Floats,
    sd: Floats,
    errors: Floats,
) -> tuple[Floats, Floats]:
    """log |V| and r' V⁻¹ r of V = blocks + X diag(sd²) X', (points,) each.

    Parameters
    ----------
    parts : iterator of members and their covariance, shape (points, blocks, s, s)
    columns : array, shape (cells, coefficients)
        X.
    rest : array, shape (cells,)
        r.
    sd : array, shape (coefficients,)
    errors : array, shape (cells, cells)
        Covariance of the errors: no block has less.
    """
    right = np.column_stack([columns * sd, rest])
    width = right.shape[1]
    log_size: Floats | float = 0.0
    gram: Floats | float = 0.0
    for members, covariance in parts:
        size = members.shape[1]
        own = right[members]
        least = np.linalg.solve(errors[members[:, :, None], members[:, None]], own)
        # Below the factor of a block stand the scores of what is written below the block.
        whole = np.empty((*covariance.shape[:2], size + width, size + width))
        whole[..., :size, :size] = covariance
        whole[..., size:, :size] = np.swapaxes(own, -1, -2)
        whole[..., :size, size:] = own
        whole[..., size:, size:] = 2 * np.swapaxes(own, -1, -2) @ least + np.eye(width)
        factor = np.linalg.cholesky(whole)
        log_size += 2 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)[..., :size]).sum(axis=(1, 2))
        scores = factor[..., size:, :size]
        gram += (scores @ np.swapaxes(scores, -1, -2)).sum(axis=1)
    gram = np.asarray(gram)
    inner = np.eye(width - 1) + gram[:, :-1, :-1]
    through = gram[:, :-1, -1:]
    form = gram[:, -1, -1] - (through * np.linalg.solve(inner, through)).sum(axis=(1, 2))
    return np.asarray(log_size + np.linalg.slogdet(inner)[1]), form


def solved(
    parts: Iterator[tuple[Members, Floats]], columns: Floats, rest: Floats, sd: Floats
) -> Floats:
    """V⁻¹ r of every point, (points, cells), r being (points, cells)."""
    scaled = columns * sd
    width = scaled.shape[1]
    found = np.empty((*rest.shape, width + 1))
    for members, covariance in parts:
        own = np.broadcast_to(scaled[members], (len(rest), *members.shape, width))
        right = np.concatenate([own, rest[:, members][..., None]], axis=-1)
        found[:, members] = np.linalg.solve(covariance, right)
    inner = np.eye(width) + scaled.T @ found[..., :-1]
    through = scaled.T @ found[..., -1:]
    back = found[..., :-1] @ np.linalg.solve(inner, through)
    return np.asarray((found[..., -1:] - back)[..., 0])
