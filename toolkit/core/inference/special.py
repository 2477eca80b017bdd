"""Functions of `scipy.special`, loaded at the first call: importing them takes a third of the time that all
of the toolkit takes, and a server, which only collects, calls none.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


@cache
def _found(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module("scipy.special"), name)
    return function


def _late(name: str) -> Callable[..., Any]:
    """The function of this name, found when it is called.

    >>> float(ndtr(0))
    0.5
    """
    return lambda *values, **options: _found(name)(*values, **options)


bdtr = _late("bdtr")
bdtrc = _late("bdtrc")
betainc = _late("betainc")
betaincinv = _late("betaincinv")
chdtrc = _late("chdtrc")
chdtri = _late("chdtri")
erfcx = _late("erfcx")
expit = _late("expit")
fdtrc = _late("fdtrc")
gamma = _late("gamma")
gammaincc = _late("gammaincc")
gammainccinv = _late("gammainccinv")
gammaincinv = _late("gammaincinv")
gammaln = _late("gammaln")
kl_div = _late("kl_div")
nctdtr = _late("nctdtr")
ndtr = _late("ndtr")
ndtri = _late("ndtri")
rel_entr = _late("rel_entr")
softmax = _late("softmax")
stdtr = _late("stdtr")
stdtrit = _late("stdtrit")
xlog1py = _late("xlog1py")
xlogy = _late("xlogy")
