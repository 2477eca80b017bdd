"""Surveys on paper: sheets to print, and entry of the answers, which are stored with the reports of phones."""
