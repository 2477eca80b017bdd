"""The course: attacks, explorers, exercises and grading, and a class that answers on its phones.

Everything here uses the rest of the toolkit, and nothing but the command line uses it.
"""

from toolkit.teaching.attempts import attempt
from toolkit.teaching.checking import check, grade
from toolkit.teaching.classroom import certificate, open_class, own_address
from toolkit.teaching.copies import dataset

__all__ = ["attempt", "certificate", "check", "dataset", "grade", "open_class", "own_address"]
