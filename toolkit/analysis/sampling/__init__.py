"""People are drawn with weights, in strata and in clusters: means, totals and their errors."""
