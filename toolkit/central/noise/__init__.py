"""The scale, the public grid and the laws of noise."""
