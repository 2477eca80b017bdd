"""Tests with many cases: slow cases are marked individually, and fast ones run in one loop, because every separate test
costs hundredths of a second.
"""

import inspect
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import product
from typing import Any

import pytest


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Run one case of a test; a failure names the case."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: {', '.join(map(str, names))}")
        raise


def each(**cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a test to run all combinations of these cases; `pytest.mark.parametrize` would make one test of each."""

    combinations = list(product(*cases.values()))
    assert combinations, "a test without a case cannot fail"

    def looped(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def through(**fixtures: Any) -> None:
            for values in combinations:
                with case(*values):
                    test(**dict(zip(cases, values, strict=True)), **fixtures)

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in cases]
        through.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return through

    return looped


def slowly(cases: Iterable[Any], slow: Container[Any]) -> list[Any]:
    """Return the cases for `pytest.mark.parametrize`, with the mark `slow` for those in `slow`."""
    return [pytest.param(case, marks=pytest.mark.slow) if case in slow else case for case in cases]
