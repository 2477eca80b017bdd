"""What follows from reports under a model: intervals, tests, posteriors, and whether the model fits at all."""
