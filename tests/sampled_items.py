"""A model of observers crossed with items, whose effects have no closed way and are sampled."""

from hmetad.specs.loading import load_model
from hmetad.specs.spec import with_changes

OF_BOTH = "1 + (1 | subject) + (1 | item)"


def sampled_items(**formula):
    """Items have effects on log M, d′ and c, and none on confidence."""
    own = dict.fromkeys(("log_m", "dprime", "c"), OF_BOTH)
    own |= {"log_gap": "1 + (1 | subject)", "log_spread": "0"}
    return with_changes(load_model("crossed_items"), scale="log_m", formula=own | formula)
