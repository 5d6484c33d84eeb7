"""Grouping columns never bear the name of a result."""

import pandas as pd
import pytest

from hmetad.errors import InputError
from hmetad.measures.reliability import accuracy_by_confidence, calibration, selective_prediction

TRIALS = pd.DataFrame(
    {
        "correct": [1, 0, 1, 1, 0, 1] * 20,
        "confidence": [0.9, 0.4, 0.7, 0.8, 0.6, 0.5] * 20,
        "left_out": [0, 1, 0, 0, 0, 0] * 20,
    }
)


FUNCTIONS = {
    "calibration": calibration,
    "accuracy_by_confidence": accuracy_by_confidence,
    "selective_prediction": lambda trials, **by: selective_prediction(
        trials, abstained="left_out", **by
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_column_called_like_a_result_is_refused_there(name):
    function = FUNCTIONS[name]
    found = function(TRIALS)
    for taken in {*map(str, found.variables), *map(str, found.dims)} - {"cell"}:
        with pytest.raises(InputError, match=f"by: got '{taken}'"):
            function(TRIALS.assign(**{taken: "a"}), by=taken)
