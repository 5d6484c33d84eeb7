"""How probable it is that one level has a larger value than another.

Draws of superiority (chain, draw, pair) → data frame of probabilities with their Monte Carlo error.
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, refuse_same_names
from hmetad.compare.quantities import SAMPLE_DIMS, both_codes
from hmetad.errors import InputError
from hmetad.monte_carlo import effective_draws, has_chains, too_undefined, where_defined

__all__ = ["superiority_table"]


@check_inputs()
def superiority_table(draws: xr.DataArray) -> pd.DataFrame:
    r"""Probability that the left value is larger than the right one, a row per pair.

    Parameters
    ----------
    draws : DataArray
        What ``contrast(..., kind="superiority")`` returned, dims (chain, draw, pair).

    Returns
    -------
    DataFrame
        label and the coordinates of the pairs; p_superior, the probability; mcse, its Monte Carlo
        standard error, NaN where it is 0 or 1 in all draws; undefined, the share of the draws that
        are, which are left out; withheld, why the draws should not be relied upon. Where more than
        5 % are undefined there is no probability.

    Raises
    ------
    InputError
        If the draws are of another kind.

    Notes
    -----
    The error is :math:`\sqrt{p(1-p)/\mathrm{ESS}}`, with the effective sample size of the draws of
    0 and 1.

    Examples
    --------
    >>> draws = xr.DataArray(
    ...     np.random.default_rng(1).random((4, 500, 1)) < 0.8,
    ...     dims=("chain", "draw", "pair"),
    ...     coords={"pair": ["a − b"], "withheld": ("pair", [""])},
    ...     attrs={"kind": "superiority"},
    ... )
    >>> superiority_table(draws).round(2).to_dict("records")
    [{'label': 'a − b', 'p_superior': 0.8, 'mcse': 0.01, 'undefined': 0.0, 'withheld': ''}]
    """
    if draws.attrs.get("kind") != "superiority":
        step = "Ask for contrast(..., kind='superiority')."
        raise InputError("draws", repr(draws.attrs.get("kind")), "draws of superiority", step)
    are_chains = has_chains(draws.attrs)

    def of_rows(rows: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        share, effective = rows.mean(axis=(1, 2)), np.full(len(rows), np.nan)
        varies = (share > 0) & (share < 1)
        effective[varies] = effective_draws(rows[varies], are_chains=are_chains)
        return {"p_superior": share, "mcse": np.sqrt(share * (1 - share) / effective)}

    rows = draws.transpose("pair", *SAMPLE_DIMS).values.astype(float)
    found = where_defined(rows, of_rows)
    beyond = np.where(too_undefined(found["undefined"]), "undefined", "")
    refuse_same_names(draws.coords, ["label", *found])
    coords = {str(k): v.values for k, v in draws.coords.items() if v.dims == ("pair",)}
    return pd.DataFrame(
        {
            "label": coords.pop("pair"),
            **{name: values for name, values in coords.items() if name != "withheld"},
            **found,
            "withheld": both_codes(coords["withheld"].tolist(), beyond.tolist()),
        }
    )
