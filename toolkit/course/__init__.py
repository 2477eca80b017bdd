"""The course: answers are compared with sealed ones and graded, notebooks copied, and a class answers on its phones."""

from toolkit.course.checking import Mark, Reply, check, grade, left_to_do
from toolkit.course.classroom import Certificate, certificate, open_class, own_address
from toolkit.course.copies import dataset

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
