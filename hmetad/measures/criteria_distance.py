"""Meta-Δ: how far out the criteria of confidence lie, the bias of confidence at the meta level.

Estimates or draws with κ and type-2 criteria → DataArray with the same dims but the criterion.
Source: O'Neill & Fleming (2026), the package hmetad for R.
"""

import xarray as xr

from hmetad.arguments import check_inputs, describe_value, refuse_same_names
from hmetad.errors import InputError
from hmetad.notice import notice_attrs, notices
from hmetad.results import attrs_of

__all__ = ["meta_delta"]

NEEDED = ("meta_c", "criteria")


@check_inputs(skip=("estimates",))
def meta_delta(estimates: xr.Dataset | xr.DataTree, *, by_response: bool = False) -> xr.DataArray:
    r"""Mean distance of the type-2 criteria from the criterion at the meta level.

    Parameters
    ----------
    estimates : Dataset or DataTree
        With ``meta_c`` and ``criteria``: what `hmetad.fit`, `hmetad.predict` or `hmetad.fit_mle`
        returned for a card of meta-d′.
    by_response : bool, optional
        A distance for each response: dim response is kept. By default the mean of the two.

    Returns
    -------
    DataArray
        ``meta_delta``, in SDs of the evidence, with the other dims and the notices of the
        estimates: of a fit (chain, draw, cell), as `contrast`, `decide` and `rank` take it. The
        larger, the lower confidence is.

    Raises
    ------
    InputError
        If the estimates have no ``meta_c`` and ``criteria``.

    Notes
    -----
    With κ the criterion at the meta level and :math:`t_{r,k}` the K − 1 criteria of response r:

    .. math:: \Delta_r = \frac1{K-1} \sum_k |t_{r,k} - \kappa|

    Criteria are on the scale of meta-d′, so that meta-Δ does not depend on how sensitive confidence
    is, as the mean rating does; ratings have to be the same. Source: O'Neill & Fleming (2026).

    Examples
    --------
    >>> kappa = xr.DataArray([0.1], {"cell": ["a"]})
    >>> t = xr.DataArray([[[-0.5, -1.0], [0.4, 1.2]]], dims=("cell", "response", "criterion"))
    >>> estimates = xr.Dataset({"meta_c": kappa, "criteria": t})
    >>> meta_delta(estimates).values, meta_delta(estimates, by_response=True).values
    (array([0.775]), array([[0.85, 0.7 ]]))
    """
    values = variables_of(estimates)
    distance = abs(values["criteria"] - values["meta_c"]).mean("criterion", skipna=False)
    found = distance if by_response else distance.mean("response", skipna=False)
    order = [dim for dim in values["criteria"].dims if dim in found.dims]
    said = attrs_of("meta_delta") | notice_attrs(notices(estimates))
    refuse_same_names(found.coords, ["meta_delta"])
    return found.transpose(*order).rename("meta_delta").assign_attrs(said)


def variables_of(estimates: object) -> xr.Dataset:
    """κ and the criteria, or an error."""
    held = estimates
    if isinstance(held, xr.DataTree) and "posterior" in held.children:
        held = held["posterior"].to_dataset()
    allowed = "estimates or draws of meta-d′, with meta_c and criteria"
    step = "Pass what fit, predict or fit_mle returns for a card of meta-d′."
    if not isinstance(held, xr.Dataset):
        raise InputError("estimates", describe_value(estimates), allowed, step)
    lacking = [name for name in NEEDED if name not in held]
    if lacking or not {"response", "criterion"} <= set(held["criteria"].dims):
        got = f"a Dataset without {', '.join(lacking) or 'dims response and criterion'}"
        raise InputError("estimates", got, allowed, step)
    return held[list(NEEDED)]
