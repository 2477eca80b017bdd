"""Exact draws: from finite laws, from laws with irrational probabilities, and integer noise of any rational scale."""
