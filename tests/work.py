"""The amount of work, in calls of functions: it is the same on a fast, a slow and a busy machine."""

import gc
import sys
from collections.abc import Callable
from typing import Any


def calls(run: Callable[[], Any]) -> int:
    """Return the number of calls of Python and C functions in this thread while a block runs, without the calls of
    garbage collection.
    """
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(counted)
    try:
        run()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count
