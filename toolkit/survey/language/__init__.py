"""Texts in several languages: the sentences of the promise (`wording/`) and the words of the page
(`languages/`).
"""
