"""Whoever names no level has one of 95 %."""

import importlib
import inspect
import pkgutil

import toolkit.analysis


def test_every_level_is_95_percent_where_none_is_named() -> None:
    modules = [one.name for one in pkgutil.walk_packages(toolkit.analysis.__path__, "toolkit.analysis.")]
    owners = [vars(importlib.import_module(name)) for name in modules]
    owners += [vars(one) for names in owners for one in names.values() if inspect.isclass(one)]
    calls = {one for names in owners for one in names.values() if inspect.isfunction(one)}
    calls = {one for one in calls if one.__module__ in modules}
    levels = [(one.__qualname__, inspect.signature(one).parameters.get("level")) for one in calls]
    named = {name: level.default for name, level in levels if level is not None}
    assert len(named) > 20
    assert {name for name, level in named.items() if level not in (0.95, inspect.Parameter.empty)} == set()
