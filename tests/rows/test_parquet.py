"""What a Parquet file says of its columns is what pyarrow reads; damage does not end the run."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmetad.base.errors import InputError
from hmetad.rows.parquet import column_chunks
from hmetad.rows.tables import read_table

TABLE = pa.table(
    {
        "number": [1.0, 2.0, 3.0] * 50,
        "word": ["x", "y", None] * 50,
        "list": [[1.0], [], [2.0, 3.0]] * 50,
        "nested": [{"a": 1, "b": "t"}, None, {"a": 2, "b": None}] * 50,
        **{f"c{i}": [True, False, None] * 50 for i in range(20)},
    }
)
BYTES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 40},
        {"version": "1.0", "compression": "zstd"},
        {"use_dictionary": False, "column_encoding": {"word": "DELTA_BYTE_ARRAY"}},
    ],
    ids=["default", "groups", "old", "delta"],
)
def test_columns_are_those_that_pyarrow_finds(tmp_path, options):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, **options)
    about = pq.read_metadata(path)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    expected = [group.column(i) for group in groups for i in range(group.num_columns)]
    for found, chunk in zip(column_chunks([path])[path], expected, strict=True):
        assert found.column == chunk.path_in_schema
        assert (found.values, found.unpacked) == (chunk.num_values, chunk.total_uncompressed_size)
        assert found.is_shared == ("DELTA_BYTE_ARRAY" in chunk.encodings)
        is_repeated = chunk.has_dictionary_page or found.is_shared
        assert found.is_short == (chunk.physical_type in BYTES and is_repeated)


def test_a_damaged_footer_is_refused_or_read_and_never_ends_the_process(tmp_path):
    """pyarrow's own view of a column ends the process where the histogram of levels is damaged."""
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE.select(["number", "word", "list"]), path)
    whole = path.read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    chosen, refused = random.Random(1), 0
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(chosen.randint(1, 3)):
            content[chosen.randrange(start, len(whole) - 8)] = chosen.choice([0x15, 0x19, 0x2C, 0])
        path.write_bytes(content)
        try:
            read_table(path)
        except InputError:
            refused += 1
    assert refused > 100
