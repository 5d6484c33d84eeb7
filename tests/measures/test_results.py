"""Results of every measure: described, kept by files, named as no grouping column is."""

from functools import partial

import pandas as pd
import pytest
import xarray as xr

from hmetad import InputError, fit_dmc, fit_mle, from_nr, measure, notices, resample, sdt, uvsdt
from hmetad.counts import type2_counts
from hmetad.counts.columns import DIM_NAMES
from hmetad.information import meta_information
from hmetad.measures import (
    accuracy_by_confidence,
    auroc2,
    calibration,
    gamma,
    mean_confidence,
    overconfidence,
    phi,
    relative_to_sdt,
    scale_report,
    selective_prediction,
    type2_roc,
    type2_zroc,
    v_statistic,
)
from hmetad.report import estimate_table

COUNTS = from_nr(
    [[84, 56, 48, 12], [36, 24, 17, 20]], [[4, 56, 64, 76], [9, 2, 28, 39]], model=["a", "b"]
)
CONFIDENCE = [0.9, 0.4, 0.7, 0.8, 0.6, 0.5] * 20
TRIALS = pd.DataFrame({"correct": [1, 0, 1, 1, 0, 1] * 20, "confidence": CONFIDENCE})
TRIALS = TRIALS.assign(left_out=[0, 1, 0, 0, 0, 0] * 20, model=["a", "b"] * 60)
OF_TRIALS = {
    "calibration": calibration,
    "accuracy_by_confidence": accuracy_by_confidence,
    "selective_prediction": partial(selective_prediction, tolerance=0.4),
    "scale_report": scale_report,
}
OF_COUNTS = {
    "measure with meta-d′": partial(measure, meta_d=True),
    "sdt": sdt,
    "type2_roc": type2_roc,
    "type2_zroc": type2_zroc,
    "mean_confidence": mean_confidence,
    "meta_information": partial(meta_information, permutations=3, seed=1),
    "uvsdt": uvsdt,
    "fit_mle": fit_mle,
    "fit_dmc": fit_dmc,
    "resample": partial(resample, statistic=gamma, n=3, seed=1),
    "estimate_table": lambda table: estimate_table(gamma(table)).set_index("cell").to_xarray(),
}
DESCRIBED = {
    "measure": measure,
    "measure of right and wrong": lambda table: measure(type2_counts(table)),
    "information of right and wrong": lambda table: meta_information(type2_counts(table)),
    "relative_to_sdt": relative_to_sdt,
    "overconfidence": partial(overconfidence, probabilities=[0.5, 1]),
    **{name: OF_COUNTS[name] for name in ("sdt", "type2_roc", "type2_zroc", "mean_confidence")},
    **{f.__name__: f for f in (meta_information, auroc2, gamma, v_statistic, phi)},
    **{f"gamma of {x}": partial(gamma, estimator=x) for x in ("pairs", "gaussian")},
    **OF_TRIALS,
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_results_are_described_and_kept_by_files_and_what_came_is_not_changed(name, tmp_path):
    came = TRIALS if name in OF_TRIALS else COUNTS
    before = came.copy(deep=True)
    result = DESCRIBED[name](came, **({"by": "model"} if name in OF_TRIALS else {}))
    assert came.equals(before)
    result = result.to_dataset(promote_attrs=True) if isinstance(result, xr.DataArray) else result
    for variable in result.data_vars.values():
        assert {"long_name", "units"} <= variable.attrs.keys(), variable.name
        assert all(variable.attrs[key] for key in ("long_name", "units")), variable.name
        # Of all measures together the notices are gathered once, and sources are those of each.
        told = "notices" not in variable.attrs if "measure" in name else variable.attrs["source"]
        assert told, variable.name
    result.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")
    read = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    xr.testing.assert_equal(read, result)
    assert notices(read) == notices(result)


@pytest.mark.parametrize("name", OF_COUNTS)
def test_a_coordinate_called_like_a_result_is_refused_there(name):
    found = OF_COUNTS[name](COUNTS)
    found = found.to_dataset() if isinstance(found, xr.DataArray) else found
    names = {*map(str, found.variables)} - {*map(str, COUNTS.coords)} - {*DIM_NAMES}
    assert names
    for taken in sorted(names)[::3]:
        with pytest.raises(InputError, match=f"by: .*my_{taken}.*got '{taken}'"):
            OF_COUNTS[name](COUNTS.rename(model=taken))


@pytest.mark.parametrize("name", OF_TRIALS)
def test_a_column_called_like_a_result_is_refused_there(name):
    found = OF_TRIALS[name](TRIALS)
    for taken in {*map(str, found.variables), *map(str, found.dims)} - {"cell"}:
        with pytest.raises(InputError, match=f"by: .*got '{taken}'"):
            OF_TRIALS[name](TRIALS.assign(**{taken: "a"}), by=taken)


def test_elsewhere_a_grouping_column_called_like_a_measure_changes_nothing():
    for taken in sorted(map(str, measure(COUNTS).data_vars))[::6]:
        odd = COUNTS.rename(model=taken)
        for function in (auroc2, gamma, phi):
            if function(COUNTS).name != taken:
                xr.testing.assert_equal(function(odd).rename({taken: "model"}), function(COUNTS))
