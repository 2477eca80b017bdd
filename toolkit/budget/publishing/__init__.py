"""Verbs of a curator for publishers: unknown keys, ranges, top k, many quantiles."""
