"""Latent classes: designs in which each class of people answers by its own rule, with and without covariates."""
