"""The exercises of the course: answers are compared with sealed ones, and typical mistakes get a hint."""

from toolkit.course.checking import Reply, check

__all__ = ["Reply", "check"]
