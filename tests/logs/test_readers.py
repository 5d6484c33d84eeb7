"""One call reads every kind of log, and says which kinds and options there are."""

import pytest

from hmetad.errors import InputError
from hmetad.logs.readers import READERS, read_log

STATED = {"field", "pattern", "words", "scale"}


def test_every_reader_takes_a_path_and_knows_stated_confidence():
    for kind, reader in READERS.items():
        assert set(reader.options) >= STATED, kind
        assert "path" not in reader.options
        assert reader.title


def test_the_registry_cannot_be_changed():
    with pytest.raises(TypeError):
        READERS["mine"] = READERS["table"]


def test_unknown_kinds_and_options_are_refused(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'lm-eval'"):
        read_log("lmeval", tmp_path)
    with pytest.raises(InputError, match="Did you mean 'metric'"):
        read_log("lm-eval", tmp_path, metrics="acc")


@pytest.mark.parametrize("kind", READERS)
def test_paths_that_are_not_there_are_refused(kind, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_log(kind, tmp_path / "nowhere.csv")
