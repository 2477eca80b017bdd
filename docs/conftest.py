"""The settings of the site are no test."""

collect_ignore = ["conf.py"]
