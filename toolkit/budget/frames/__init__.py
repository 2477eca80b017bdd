"""Frames of pandas, polars and pyarrow, their columns, and conditions on their rows: read by rules that
depend on types alone.
"""
