"""Verbs of a curator for publishers: unknown keys, ranges, the most frequent, many quantiles, tables that agree."""
