"""Of a parametrized test some cases take seconds and others none: those that do are marked one by one."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def slowly(cases: Iterable[Any], slow: Container[Any]) -> list[Any]:
    """The cases of `pytest.mark.parametrize`, those in `slow` with the mark that `make quick` leaves out."""
    return [pytest.param(case, marks=pytest.mark.slow) if case in slow else case for case in cases]
