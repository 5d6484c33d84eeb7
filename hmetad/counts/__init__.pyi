"""Count tables beyond `hmetad.count_trials` and `hmetad.count_correct`."""

from hmetad.counts.columns import without_codes as without_codes
from hmetad.counts.resample import clusters_of as clusters_of
from hmetad.counts.tables import as_detection as as_detection
from hmetad.counts.tables import type2_counts as type2_counts
