"""Criteria that wander by a lognormal factor, as a record.

Parameters → Family. The lognormal meta-noise of Shekhar & Rahnev (2021) and the
meta-uncertainty of CASANDRE (Boundy-Singer et al., 2023) are one model in two units.
"""

import math

from hmetad.likelihood.family import (
    NUMPY,
    Array,
    Arrays,
    Family,
    Parameter,
    Quantity,
    intermediate,
)
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import (
    CRITERION,
    LOG_GAP,
    TYPE1,
    TYPE1_QUANTITIES,
    criteria_quantities,
    over_cells,
)

KERNEL = "hmetad.likelihood.kernels.lognormal"
LIMITS = (
    "The same likelihood has two names: meta-noise q, and meta-uncertainty √(exp q² - 1). Criteria "
    "are measured from c. Other processes may fit as well."
)


def log_probabilities(d: Array, c: Array, q: Array, t: Array, xp: Arrays = NUMPY) -> Array:
    """log P(response, rating | stimulus), shape (..., 2, 2, K); arguments as in `KERNEL`."""
    return over_cells(KERNEL, (d, c, q), t, xp)


FAMILIES = (
    Family(
        name="lognormal",
        title="Criteria of confidence that wander by a lognormal factor.",
        parameters=(
            *TYPE1,
            Parameter(
                "log_meta_noise",
                "log of the SD of the log criteria",
                Prior("Normal", mu=math.log(0.5), sigma=1),
                link="log",
            ),
            LOG_GAP,
        ),
        quantities=(
            *TYPE1_QUANTITIES,
            Quantity(
                "meta_noise",
                "meta-noise q, SD of the log of the criteria",
                needs=("log_meta_noise",),
                compute=lambda v, xp: xp.exp(v["log_meta_noise"]),
                parameter="log_meta_noise",
            ),
            Quantity(
                "meta_uncertainty",
                "meta-uncertainty √(exp q² - 1)",
                needs=("meta_noise",),
                # Beyond it overflows.
                compute=lambda v, xp: xp.sqrt(xp.expm1(xp.minimum(v["meta_noise"] ** 2, 700.0))),
                parameter="log_meta_noise",
                convergence_of=("meta_noise",),
                always_finite=False,
            ),
            *criteria_quantities("c", lambda v: v["c"][..., None]),
            intermediate(
                "distances",
                CRITERION,
                ("gaps",),
                lambda v, xp: xp.cumulative_sum(v["gaps"], axis=-1),
            ),
        ),
        arguments=("dprime", "c", "meta_noise", "distances"),
        log_probabilities=log_probabilities,
        parameter_of_interest="log_meta_noise",
        symbol="q",
        plotted="meta_noise",
        compared="meta_noise",
        tabulated=("dprime", "c", "meta_noise", "meta_uncertainty"),
        method="criteria multiplied by a lognormal variable in each trial (Shekhar & Rahnev, 2021; "
        "Boundy-Singer et al., 2023).",
        limits=LIMITS,
        kernel_module=KERNEL,
        compiled_kernel="lognormal",
        is_costly=True,
    ),
)
