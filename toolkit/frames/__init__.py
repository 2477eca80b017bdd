"""Any table: pandas, polars, pyarrow, DuckDB, PySpark. Columns are read by rules that depend on types alone.

Counts and sums of a confidential table come from `reader`, in exact integers. Reports are randomized before they are
stored: `counts` and `table` read them with narwhals, whose counts of equal rows are exact in every engine, and an error
of the engine may be shown.
"""

from toolkit.frames.values import MISSING, OTHER, bands, between

__all__ = ["MISSING", "OTHER", "bands", "between"]
