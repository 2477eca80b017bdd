"""Any table: pandas, polars, pyarrow, DuckDB, PySpark. Columns are read by rules that depend on types alone."""

from toolkit.frames.values import MISSING, OTHER, bands, between

__all__ = ["MISSING", "OTHER", "bands", "between"]
