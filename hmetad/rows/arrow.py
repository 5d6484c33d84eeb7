"""Columns of Arrow and of pandas.

Arrow arrays and tables → dictionaries of text, DataFrames.
"""

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["coded", "frame_of", "is_text"]


def is_text(kind: pa.DataType) -> bool:
    """Whether a column is of text.

    Examples
    --------
    >>> is_text(pa.large_string()), is_text(pa.int64())
    (True, False)
    """
    return str(kind) in ("string", "large_string", "string_view")


def coded(values: pa.Array) -> pa.Array:
    """Text as a dictionary, which is quick to group by; anything else as it is.

    Examples
    --------
    >>> str(coded(pa.array(["a", "a"])).type)
    'dictionary<values=string, indices=int32, ordered=0>'
    """
    return pc.dictionary_encode(values.cast(pa.string())) if is_text(values.type) else values


def frame_of(table: pa.Table) -> pd.DataFrame:
    """DataFrame of an Arrow table; text that Arrow keeps as a dictionary is plain text.

    Examples
    --------
    >>> frame_of(pa.table({"model": coded(pa.array(["a", "b"]))}))["model"].tolist()
    ['a', 'b']
    """
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields)).to_pandas()
