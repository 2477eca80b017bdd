"""Columns and tables of each engine, and what can be said in its own expressions."""
