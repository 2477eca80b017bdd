"""All sentences that respondents and readers see, with one file per language, a loader, and a formatter."""
