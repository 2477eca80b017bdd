"""Exchange with other programs: their exports and forms, codebooks, and reports for readers."""
