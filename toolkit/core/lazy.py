"""Lazy import of what stands on a higher floor, or beside: a picture of results, a form in a notebook."""

import importlib
from typing import Any


def lazy(module: str, name: str) -> Any:
    """One function or class of a module, imported now."""
    return getattr(importlib.import_module(module), name)
