"""Means, totals and their errors for samples with weights, strata and clusters."""
