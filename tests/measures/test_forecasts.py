"""Grouping columns never bear the name of a result."""

import pandas as pd
import pytest

from hmetad.counts.names import RESERVED_NAMES
from hmetad.errors import InputError
from hmetad.measures.calibration import calibration
from hmetad.measures.forecasts import RESULT_NAMES
from hmetad.measures.monotonicity import accuracy_by_confidence
from hmetad.measures.selection import selective_prediction

TRIALS = pd.DataFrame(
    {
        "correct": [1, 0, 1, 1, 0, 1] * 20,
        "confidence": [0.9, 0.4, 0.7, 0.8, 0.6, 0.5] * 20,
        "left_out": [0, 1, 0, 0, 0, 0] * 20,
    }
)


def test_names_of_all_results_are_taken():
    results = [
        calibration(TRIALS),
        accuracy_by_confidence(TRIALS),
        selective_prediction(TRIALS, abstained="left_out"),
    ]
    for result in results:
        names = {str(name) for name in [*result.variables, *result.dims]}
        free = names - RESULT_NAMES - RESERVED_NAMES
        assert not {name for name in free if not name.endswith(("_se", "_lower", "_upper"))}


@pytest.mark.parametrize("function", [calibration, accuracy_by_confidence, selective_prediction])
def test_a_column_with_such_a_name_is_refused(function):
    with pytest.raises(InputError, match="by: got 'coverage'"):
        function(TRIALS.assign(coverage="a"), by="coverage")
