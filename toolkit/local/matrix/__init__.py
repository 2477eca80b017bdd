"""What a design does with its matrix: read answers, draw reports, and estimate from them."""
