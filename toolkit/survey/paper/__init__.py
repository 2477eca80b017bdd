"""A survey on paper: sheets to print, and what comes back, checked and stored beside the reports of phones."""
