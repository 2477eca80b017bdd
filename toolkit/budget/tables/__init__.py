"""Tables of a curator: counts, sums, means and spreads by groups, each for one charge."""
