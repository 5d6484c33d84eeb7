"""Log-likelihoods of the options of a question become probabilities.

Log-likelihoods (options,) → probabilities (options,).
Source: the softmax, and the lengths that divide, are those of lm-evaluation-harness.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hmetad.errors import InputError

__all__ = ["option_lengths", "option_probabilities"]


def option_probabilities(
    log_likelihoods: ArrayLike, lengths: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Probability of each option, given that one of them is said.

    Parameters
    ----------
    log_likelihoods : array_like of float, shape (..., options)
        Log-likelihood of each option (nat); -inf is an option that cannot be said.
    lengths : array_like of float, shape (..., options), optional
        Length of each option (characters, bytes), by which its log-likelihood is divided.

    Returns
    -------
    ndarray of float, shape (..., options)
        Probabilities that add up to 1; NaN in all options where a log-likelihood is NaN or
        positively infinite, or all of them are -inf.

    Raises
    ------
    InputError
        If there is no option, the shapes differ, or a length is not positive.

    Notes
    -----
    With log-likelihoods :math:`\ell_i` and lengths :math:`n_i` (1 by default),
    :math:`p_i = e^{\ell_i / n_i} / \sum_j e^{\ell_j / n_j}`. Divided by their lengths, options
    are ranked as acc_norm ranks them, and the probabilities are flatter.

    Examples
    --------
    >>> option_probabilities(np.log([0.2, 0.1, 0.1])).round(3)
    array([0.5 , 0.25, 0.25])
    """
    values = np.asarray(log_likelihoods, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise InputError("log_likelihoods", f"shape {values.shape}", "one or more options")
    if lengths is not None:
        divisor = np.asarray(lengths, dtype=np.float64)
        if divisor.shape != values.shape or not (divisor > 0).all():
            got = f"shape {divisor.shape} for {values.shape} log-likelihoods"
            got = "a length of 0" if divisor.shape == values.shape else got
            raise InputError("lengths", got, "a positive length for each option")
        values = values / divisor
    top = values.max(axis=-1, keepdims=True)
    known = np.isfinite(top)
    odds = np.exp(np.where(known, values, 0) - np.where(known, top, 0))
    return np.where(known, odds / odds.sum(axis=-1, keepdims=True), np.nan)


def option_lengths(texts: Sequence[str], unit: str, delimiter: str = " ") -> NDArray[np.float64]:
    """Length of each option without the delimiter before it.

    Parameters
    ----------
    texts : sequence of str
        Options as they were scored, such as " Paris".
    unit : {"characters", "bytes"}
        Unit of the lengths; bytes are those of UTF-8.
    delimiter : str, optional
        What stands between question and option.

    Returns
    -------
    ndarray of float, shape (options,)
        The lengths.

    Examples
    --------
    >>> option_lengths([" Zürich", " Bern"], "bytes")
    array([7., 4.])
    """
    bare = [text.removeprefix(delimiter) for text in texts]
    if unit == "bytes":
        return np.array([len(text.encode("utf-8", "surrogatepass")) for text in bare], dtype=float)
    return np.array([len(text) for text in bare], dtype=float)
