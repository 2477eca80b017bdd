"""Tables of pandas, polars, pyarrow, DuckDB and PySpark, whose columns are read according to type alone.

Counts and sums of a confidential table come from `reader` as exact integers. Reports are already randomized when they
are stored, so `counts` and `table` read them with narwhals, and error messages of the engine may be shown. Narwhals
counts equal rows exactly in every engine.
"""

from toolkit.frames.lookup import with_lookup
from toolkit.frames.values import MISSING, OTHER, bands, between

__all__ = ["MISSING", "OTHER", "bands", "between", "with_lookup"]
