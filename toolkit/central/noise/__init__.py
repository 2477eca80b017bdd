"""How noise is scaled, laid on a public grid, and described as a law."""
