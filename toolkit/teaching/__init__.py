"""The course: attacks, explorers, exercises and grading, and classroom surveys on phones.

This package uses the rest of the toolkit; only the command line uses this package.
"""

from toolkit.teaching.attempts import attempt
from toolkit.teaching.checking import check, grade
from toolkit.teaching.classroom import certificate, open_class, own_address
from toolkit.teaching.copies import dataset

__all__ = ["attempt", "certificate", "check", "dataset", "grade", "open_class", "own_address"]
