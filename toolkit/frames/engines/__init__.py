"""The columns and tables of each engine, and the expressions that it can compute."""
