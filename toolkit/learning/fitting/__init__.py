"""How weights are fitted with noise: losses of a margin, their minimum, and where the noise goes."""
