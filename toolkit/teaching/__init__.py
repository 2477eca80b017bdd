"""The course: attacks, explorers, exercises and grading, and a class that answers on its phones.

Everything here uses the rest of the toolkit, and nothing but the command line uses it.
"""

from toolkit.teaching.checking import Mark, Reply, check, grade, left_to_do
from toolkit.teaching.classroom import Certificate, certificate, open_class, own_address
from toolkit.teaching.copies import dataset

__all__ = [
    "Certificate",
    "Mark",
    "Reply",
    "certificate",
    "check",
    "dataset",
    "grade",
    "left_to_do",
    "open_class",
    "own_address",
]
