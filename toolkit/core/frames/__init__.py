"""Frames of pandas, polars, pyarrow, DuckDB and PySpark, and their columns: read by rules that depend on
types alone.
"""
