"""Limits: the largest accepted and the smallest rejected value."""

import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.survey.samples import panel
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import check_magnitude
from toolkit.central.publishing.keys import RangeFinder
from toolkit.central.robust.admissible import PowerLaw
from toolkit.central.robust.smooth import tables
from toolkit.central.stream.total import _check_periods
from toolkit.core.checks import exact_fraction
from toolkit.core.loss import Pure
from toolkit.core.postgres import address
from toolkit.curator.quantiles import _shares
from toolkit.frames.frame import Frame, as_list
from toolkit.frames.sums import Bounds, parse_axes
from toolkit.learning.tables import checked_limits
from toolkit.local.calibration import check_odds, checked_epsilon
from toolkit.local.matrix.encoding import _to_common_type, checked_times
from toolkit.local.matrix.moments import scored_option_code
from toolkit.local.matrix.tables import check_table
from toolkit.local.numeric.grid import AnswerGrid, checked_bounds, laplace_browser_data
from toolkit.local.questions import _labels_for_table
from toolkit.survey.questions.question import Question
from toolkit.survey.questions.survey_fields import checked_arms
from toolkit.survey.serving.options import ServeOptions
from toolkit.survey.serving.station import new_station_link
from toolkit.survey.spec import Survey

GREAT, TINY = 10**300, 10**100
FRAME, NONE = Frame(pd.DataFrame({"a": [1], "b": [1]})), np.zeros(0)
LIMITS: dict[str, tuple[Callable[[Any], object], Any, Any]] = {
    "a power of ten": (lambda power: exact_fraction(f"1e{power}", "x"), 10_000, 10_001),
    "one below zero": (lambda power: exact_fraction(f"1e{power}", "x"), -10_000, -10_001),
    "the name of a schema": (lambda size: address(f"postgresql://host/data?schema={'a' * size}", ""), 63, 64),
    "a great scale": (lambda scale: check_magnitude(scale, "scale", ""), GREAT, GREAT + 1),
    "a small scale": (lambda scale: check_magnitude(Fraction(1, scale), "scale", ""), GREAT, GREAT + 1),
    "the first bin": (lambda first: RangeFinder(Laplace.for_epsilon(1), first), -300, -301),
    "the last bin": (lambda last: RangeFinder(Laplace.for_epsilon(1), -300, last), 300, 301),
    "the tail of a power law": (lambda m: PowerLaw(Pure(1), m), 3, 2),
    "tables by brute force": (lambda size: tables(range(size), 1), 100_000, 100_001),
    "periods": (_check_periods, 10_000, 10_001),
    "quantiles": (lambda size: _shares([Fraction(i, 2000) for i in range(size)]), 1000, 1001),
    "keys": (lambda size: as_list(range(size), "keys"), 10**6, 10**6 + 1),
    "cells": (
        lambda sizes: parse_axes(FRAME, dict(zip("ab", map(range, sizes), strict=True))), (1000, 1000), (101, 9901)
    ),
    "squares": (lambda to: Bounds(Fraction(0), Fraction(to), Fraction(1)).sums(NONE, squares=True), 2**18, 2**18 + 1),
    "bounds of a model": (lambda high: checked_limits((0, high), "bounds", ""), 1e100, math.nextafter(1e100, math.inf)),
    "epsilon": (checked_epsilon, 22, 22 + Fraction(1, TINY)),
    "a small epsilon": (lambda part: checked_epsilon(Fraction(1, part)), TINY, TINY + 1),
    "weights": (lambda total: check_odds(2, 1, total), 2**32, 2**32 + 1),
    "a denominator": (lambda one: check_table(one * np.eye(2, dtype=np.int64), one, 2, 2), 2**32, 2**32 + 1),
    "how often reports came": (lambda often: checked_times([often, 0], 2), 2**53, 2**53 + 2),
    "codes as floats": (lambda code: _to_common_type(np.array([float(code)]), "codes"), 2**53 - 1, 2**53),
    "noise in a browser": (lambda scale: laplace_browser_data(Fraction(scale), Fraction(1)), 2**43 - 1, 2**43),
    "options of a table": (lambda size: _labels_for_table(size, ""), 2048, 2049),
    "options with scores": (lambda size: scored_option_code(tuple(range(size)), None), 2048, 2049),
    "high answers": (lambda high: checked_bounds((0, high)), GREAT, GREAT + 1),
    "low answers": (lambda low: checked_bounds((low, 0)), -GREAT, -GREAT - 1),
    "steps": (lambda steps: AnswerGrid(Fraction(0), Fraction(1), steps), 2**16, 2**16 + 1),
    "few arms": (lambda size: checked_arms({f"a{i}": Fraction(1, size) for i in range(size)}), 2, 1),
    "many arms": (lambda size: checked_arms({f"a{i}": Fraction(1, size) for i in range(size)}), 8, 9),
    "shares of arms": (lambda n: checked_arms({"a": Fraction(1, n), "b": Fraction(n - 1, n)}), 2**32, 2**32 + 1),
    "waves": (lambda waves: panel(waves=waves, ceiling=20), 24, 25),
    "reports": (lambda cap: Survey("T", [Question("a", "A?", free_text=True)], consent="C", cap=cap), 10**9, 10**9 + 1),
    "digits": (lambda high: Survey("T", [Question("a", "A?", bounds=(0, high))], consent="C"), 10**15 - 1, 10**15),
    "people at a station": (lambda uses: new_station_link("https://survey.example/", uses), 10_000, 10_001),
    "a port": (lambda port: ServeOptions(port=port), 65_535, 65_536),
}  # fmt: skip


@pytest.mark.parametrize(("call", "last", "beyond"), LIMITS.values(), ids=LIMITS)
def test_a_limit_is_where_it_is_said_to_be(call: Callable[[Any], object], last: Any, beyond: Any) -> None:
    call(last)
    with pytest.raises((ValueError, TypeError, ArgumentTypeError), match=r"must|need|available for up to"):
        call(beyond)
