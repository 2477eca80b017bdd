"""Functions of `scipy.special`, loaded at the first call.

Importing these functions would account for a third of the toolkit's import time, and a server that only collects
reports needs none of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

_NAMES = (
    *("bdtr", "bdtrc", "betainc", "betaincinv", "chdtrc", "chdtri", "erfcx", "expit", "fdtrc", "gamma", "gammaincc"),
    *("gammainccinv", "gammaincinv", "gammaln", "kl_div", "nctdtr", "ndtr", "ndtri", "rel_entr", "softmax", "stdtr"),
    *("stdtrit", "xlog1py", "xlogy"),
)


@cache
def _load(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module("scipy.special"), name)
    return function


@dataclass(frozen=True)
class _LazyFunction:
    """A function of `scipy.special`, loaded when it is called; unlike the function itself it can be pickled."""

    name: str

    def __call__(self, *values: object, **options: object) -> Any:
        return _load(self.name)(*values, **options)


def __getattr__(name: str) -> _LazyFunction:
    if name not in _NAMES:
        raise AttributeError(name)
    return _LazyFunction(name)
