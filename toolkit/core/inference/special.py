"""Functions of `scipy.special`, loaded at the first call: importing them takes a third of the time that all
of the toolkit takes, and a server, which only collects, calls none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


@cache
def _found(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module("scipy.special"), name)
    return function


@dataclass(frozen=True)
class _Late:
    """The function of this name, found when it is called; an estimate that keeps one can be pickled.

    >>> float(ndtr(0))
    0.5
    """

    name: str

    def __call__(self, *values: Any, **options: Any) -> Any:
        return _found(self.name)(*values, **options)


bdtr = _Late("bdtr")
bdtrc = _Late("bdtrc")
betainc = _Late("betainc")
betaincinv = _Late("betaincinv")
chdtrc = _Late("chdtrc")
chdtri = _Late("chdtri")
erfcx = _Late("erfcx")
expit = _Late("expit")
fdtrc = _Late("fdtrc")
gamma = _Late("gamma")
gammaincc = _Late("gammaincc")
gammainccinv = _Late("gammainccinv")
gammaincinv = _Late("gammaincinv")
gammaln = _Late("gammaln")
kl_div = _Late("kl_div")
nctdtr = _Late("nctdtr")
ndtr = _Late("ndtr")
ndtri = _Late("ndtri")
rel_entr = _Late("rel_entr")
softmax = _Late("softmax")
stdtr = _Late("stdtr")
stdtrit = _Late("stdtrit")
xlog1py = _Late("xlog1py")
xlogy = _Late("xlogy")
