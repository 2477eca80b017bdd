"""The scale, the public grid and the distributions of noise."""
