"""DataFrames of pandas, as tables that DuckDB groups.

DataFrame → columns for SQL: numbers as they are, of other values their places among the different
ones, so that values of any type come back as they were.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import InputError, nearest
from hmetad.rows.database import Opened, UngroupableError, shared
from hmetad.rows.rows import Levels, Source

__all__ = ["FrameSource", "no_column"]


class FrameSource(Source):
    """A DataFrame of pandas: DuckDB groups the places of values that are no plain numbers.

    Parameters
    ----------
    frame : DataFrame
    weights : ndarray of int, optional
        How many rows each stands for.
    lacks : mapping of str to Path, optional
        Columns that a file lacks, where the frame has several files, and that file.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        weights: NDArray[np.int64] | None = None,
        lacks: Mapping[Any, Path] | None = None,
    ) -> None:
        self.frame, self.weights, self.lacks = frame, weights, lacks or {}
        self.coded: dict[Any, tuple[NDArray[np.int64], pd.Index]] = {}

    @contextmanager
    def opened(self, columns: Sequence[Any], levels: Levels | None = None, /) -> Iterator[Opened]:
        """The columns for SQL; of the last one, unless it is numbers, `levels` of its values."""
        self.refuse_lacking(columns)
        values = [self.plain(name) for name in columns]
        if levels is not None and not is_plain(self.frame[columns[-1]]):
            codes, known = self.codes(columns[-1])
            # A missing value has the last place.
            values[-1] = np.append(levels(known), np.nan)[codes]
        registered = {f"c{place}": np.ascontiguousarray(one) for place, one in enumerate(values)}
        if self.weights is not None:
            registered |= {"times": self.weights}
        with shared() as connection:
            connection.register("frame", pd.DataFrame(registered, copy=False))
            select = f"SELECT {', '.join(registered)} FROM frame"
            kinds = tuple(kind_of(one.dtype) for one in values)
            weight = None if self.weights is None else "times"
            yield Opened(connection, select, kinds, self.decoded, weight)

    def plain(self, name: Any) -> NDArray[Any]:
        """Numbers of a column, or the places of its values among the different ones."""
        column = self.frame[name]
        if not is_plain(column):
            return self.codes(name)[0].astype(np.int32)
        # DuckDB has no numbers of 2 or of 16 bytes, and none in the order of other machines.
        has_type = column.dtype.kind != "f" or column.dtype.itemsize in (4, 8)
        return column.to_numpy(dtype=column.dtype.newbyteorder("=") if has_type else np.float64)

    def codes(self, name: Any) -> tuple[NDArray[np.int64], pd.Index]:
        """Places of a column's values among the different ones, -1 where missing, and these."""
        if name not in self.coded:
            try:
                codes, levels = pd.factorize(self.frame[name])
            except TypeError as error:
                raise UngroupableError(str(error)) from error
            self.coded[name] = codes, pd.Index(levels)
        return self.coded[name]

    def decoded(self, found: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
        """Values of the columns, where `found` has them as they were opened."""
        values = {}
        for place, name in enumerate(columns):
            own = found[f"c{place}"]
            if not is_plain(self.frame[name]):
                levels = pd.Series(self.coded[name][1], dtype=self.frame[name].dtype)
                own = levels.reindex(own.where(own >= 0)).set_axis(found.index)
            values[name] = own
        return pd.DataFrame(values, index=found.index)

    def head(self, columns: Sequence[Any], most: int | None) -> pd.DataFrame:
        """The first rows."""
        self.refuse_lacking(columns)
        return self.frame[list(columns)][:most]

    def refuse_lacking(self, columns: Sequence[Any]) -> None:
        """Refuse columns that one of the files lacks."""
        for name in columns:
            if name in self.lacks:
                raise no_column(self.lacks[name], name, self.frame.columns)


def no_column(path: Path, name: str, columns: Iterable[Any]) -> InputError:
    """Error for a file without a column that is in use."""
    step = nearest(name, [str(one) for one in columns if one != name])
    return InputError(str(path), f"no column {name!r}", "the columns in use in all files", step)


def kind_of(dtype: np.dtype[Any]) -> str:
    """Type of numbers of NumPy, as DuckDB calls it, but for what it calls smaller ones."""
    if dtype.kind == "f":
        return "DOUBLE"
    return "BIGINT" if dtype.itemsize == 8 else "INTEGER"


def is_plain(column: pd.Series) -> bool:
    """Whether a column holds numbers as NumPy has them."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf"
