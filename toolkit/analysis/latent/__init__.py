"""Designs with latent classes, each of which answers according to its own rule, with and without covariates."""
