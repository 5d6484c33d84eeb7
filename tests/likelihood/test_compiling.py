"""Code that Numba keeps on disk is taken as long as all that it is made of is the same."""

import importlib
import os
import sys

import numba
import pytest
from full_disk import largest_file
from numba.core.caching import CacheImpl

from hmetad.bayes.density import evaluate_at
from hmetad.likelihood.compiling import c_function, stamp_of, warn_of_lost_code
from hmetad.likelihood.kernels import meta_d

CALLEE = (
    "from hmetad.likelihood.compiling import compiled\n\n@compiled\ndef inner(x):\n    return {}\n"
)
CALLER = (
    "from numba import njit\nfrom hmetad.likelihood.compiling import compiled\n"
    "from kept_callee import inner\nfrom kept_constants import TIMES\n\n"
    "{}\ndef outer(x):\n    return TIMES * later(x)\n\n"
    # Code has in it what comes further down in the file too.
    "@compiled\ndef later(x):\n    return inner(x)\n"
)
MODULES = ("kept_callee", "kept_constants", "kept_caller")


@pytest.fixture
def import_anew(tmp_path, monkeypatch):
    """Function that writes a package of three modules and imports it as a new process would."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)

    def import_modules(inner="x + 1", times=10, decorator="@compiled"):
        (tmp_path / "kept_callee.py").write_text(CALLEE.format(inner))
        (tmp_path / "kept_constants.py").write_text(f"TIMES = {times}\n")
        (tmp_path / "kept_caller.py").write_text(CALLER.format(decorator))
        for name in MODULES:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("kept_caller").outer

    yield import_modules
    for name in MODULES:
        sys.modules.pop(name, None)


def taken(function):
    """How often code of a function was taken from the disk."""
    return sum(function.stats.cache_hits.values())


def test_a_function_is_compiled_anew_if_what_it_calls_changed(import_anew, tmp_path):
    assert import_anew()(1) == 20
    again = import_anew()
    assert (again(1), taken(again)) == (20, 1)
    changed = import_anew(inner="x + 2")
    assert (changed(1), taken(changed)) == (30, 0)
    files = sorted(p.name for p in (tmp_path / "kept").rglob("*") if p.is_file())
    # An index and the code of each function, as before.
    assert len(files) == 2 * 3
    assert len(os.listdir(tmp_path / "kept")) == 1


def test_a_function_is_compiled_anew_if_a_constant_of_another_file_changed(import_anew):
    assert import_anew()(1) == 20
    changed = import_anew(times=100)
    assert (changed(1), taken(changed)) == (200, 0)


def test_without_the_stamp_numba_takes_old_code(import_anew):
    # What the other tests are about: if Numba does this itself one day, the stamp can go.
    assert import_anew(decorator="@njit(cache=True)")(1) == 20
    assert import_anew(inner="x + 2", decorator="@njit(cache=True)")(1) == 20


def test_a_function_for_c_is_compiled_anew_if_what_it_calls_changed(import_anew):
    signature = numba.types.float64(numba.types.float64)
    found = [
        (made.ctypes(1.0), made._cache_hits)
        for inner in ("x + 1", "x + 1", "x + 2")
        for made in [c_function(signature, import_anew(inner).py_func)]
    ]
    assert found == [(20.0, 0), (20.0, 1), (30.0, 0)]


def test_kernels_that_a_density_calls_are_in_its_stamp(monkeypatch):

    before = stamp_of(evaluate_at)
    assert stamp_of(evaluate_at) == before
    monkeypatch.setattr(meta_d, "BLOCK", 8)
    assert stamp_of(evaluate_at) != before


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_code_of_which_files_are_damaged_is_compiled_anew_and_kept(suffix, import_anew, tmp_path):
    assert import_anew()(1) == 20
    files = sorted((tmp_path / "kept").rglob(f"*{suffix}"))
    whole = [path.read_bytes() for path in files]
    empty, cut, zeros = b"", whole[1][:-40], whole[2][:99] + bytes(40) + whole[2][139:]
    for path, content in zip(files, (empty, cut, zeros), strict=True):
        path.write_bytes(content)
    for number in (0, 1):
        again = import_anew()
        assert (again(1), taken(again)) == (20, number)
    assert not {empty, cut, zeros} & {path.read_bytes() for path in files}


@pytest.mark.parametrize("size", [0, 1500])
def test_on_a_full_disk_code_is_compiled_and_not_kept_with_one_warning(size, import_anew):
    warn_of_lost_code.cache_clear()
    function = import_anew()
    with largest_file(size), pytest.warns(UserWarning, match="not kept: .*File too") as warned:
        assert function(1) == 20
    assert len(warned) == 1
    assert import_anew()(1) == 20


def test_without_a_folder_code_is_not_kept(import_anew, monkeypatch):
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    with pytest.warns(UserWarning, match="no folder") as warned:
        function = import_anew()
    assert len(warned) == 1
    assert function(1) == 20
