"""The respondents' address: the page, reports, signatures, and the process that serves them."""
