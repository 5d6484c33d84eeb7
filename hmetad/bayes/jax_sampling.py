"""Samplers that run in JAX: NumPyro's, BlackJAX's, and nutpie's with JAX for its backend.

Options of `pymc.sample` → the same, with what JAX needs; the likelihood is registered with it.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hmetad.base.errors import InputError

__all__ = ["jax_packages", "prepare_jax"]

JAX_SAMPLERS = ("numpyro", "blackjax")


def jax_packages(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Optional packages that these options of `pymc.sample` need; none without JAX.

    Examples
    --------
    >>> jax_packages({"nuts_sampler": "numpyro"}), jax_packages({"draws": 500})
    (('jax', 'numpyro'), ())
    """
    sampler = options.get("nuts_sampler")
    if sampler in JAX_SAMPLERS:
        return ("jax", sampler)
    nuts = options.get("nuts") or {}
    backends = (options.get("backend"), nuts.get("backend"))
    return ("jax",) if any(str(name).lower() == "jax" for name in backends) else ()


def prepare_jax(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options to sample with; unchanged where they do not need JAX.

    NumPyro and BlackJAX run all chains as one vector unless told otherwise: chains in parallel
    need a device each, and a processor is one device once JAX has started.

    Raises
    ------
    InputError
        If the options need a package that is not installed.
    """
    packages = jax_packages(options)
    if not packages:
        return dict(options)
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        name = "nuts_sampler" if packages[-1] in JAX_SAMPLERS else "backend"
        raise InputError(
            name,
            f"{packages[-1]!r} without {' and '.join(missing)}",
            "what is installed",
            f'In the clone: pip install ".[jax]"; or leave {name} out.',
        )
    # At call time, since JAX is optional and takes a second to import.
    import_module("hmetad.likelihood.jax_op")
    if packages[-1] not in JAX_SAMPLERS:
        return dict(options)
    # PyMC's deprecated name of `nuts` is used alone, as it came.
    if "nuts_sampler_kwargs" in options:
        return dict(options)
    return {**options, "nuts": {"chain_method": "vectorized", **(options.get("nuts") or {})}}
