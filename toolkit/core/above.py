"""What stands on a floor above, loaded by name when a person asks for it: a picture of results, a form in a
notebook.

Nothing below knows what is drawn there, and nothing of it is loaded before somebody wants to see it.
"""

import importlib
from typing import Any


def above(module: str, name: str) -> Any:
    """One function or class of a module, imported now.

    >>> above("fractions", "Fraction")(1, 3)
    Fraction(1, 3)
    """
    return getattr(importlib.import_module(module), name)
