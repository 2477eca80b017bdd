"""Functions of `scipy.special`, loaded at the first call: importing them takes a third of the time that all
of the toolkit takes, and a server, which only collects, calls none.
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
def _found(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module("scipy.special"), name)
    return function


@dataclass(frozen=True)
class _Late:
    """The function of this name, found when it is called; an estimate that keeps one can be pickled."""

    name: str

    def __call__(self, *values: object, **options: object) -> Any:
        return _found(self.name)(*values, **options)


def __getattr__(name: str) -> _Late:
    if name not in _NAMES:
        raise AttributeError(name)
    return _Late(name)
