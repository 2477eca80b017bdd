"""Columns and tables of each engine, and the expressions that each engine can compute itself."""
