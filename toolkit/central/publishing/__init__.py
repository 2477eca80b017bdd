"""Releases of unknown keys, ranges, quantiles, the top k, and tables that agree with each other."""
