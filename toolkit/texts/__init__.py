"""All sentences that respondents and readers see: a file per language in `languages/`, a loader, and a formatter."""
