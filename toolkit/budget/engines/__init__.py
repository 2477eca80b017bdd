"""One file an engine: its columns, read by rules that depend on a column's type alone."""
