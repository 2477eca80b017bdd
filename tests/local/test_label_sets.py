"""Labels of every kind keep their types when they are randomized, estimated and scored, in any container."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.local.memos import draw_memos, draw_wave
from tests.slowly import each
from toolkit import k_ary, warner
from toolkit.local import oracles
from toolkit.local.design import Design
from toolkit.local.waves import Memo

MIXED = (1, 2, 3, "undisclosed")
SETS: dict[str, tuple[str | int, ...]] = {
    "points": (1, 2, 3, 4, 5),
    "points from above": (5, 4, 3, 2, 1),
    "codes from above": (2, 1, 0),
    "one and zero": (1, 0),
    "zero and one": (0, 1),
    "mixed": MIXED,
    "mixed, text first": ("none", 0, 1),
    "negative": (-1, 0, 1),
    "digits": ("1", "2", "3"),
    "digits from above": ("2", "1", "0"),
    "days": ("2026-01-01", "2026-01-02", "2026-02-01"),
    "truth values in words": ("True", "False"),
    "yes first": ("yes", "no"),
    "words": ("never", "once", "often"),
}
TYPED: dict[str, Callable[[list[Any]], Any]] = {
    "array": np.array,
    "strings of pandas": lambda texts: pd.Series(texts, dtype="string"),
    "polars": pl.Series,
    "categories of polars": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "pyarrow": pa.array,
    "dictionary of pyarrow": lambda texts: pa.array(texts).dictionary_encode(),
    "chunks of pyarrow": lambda texts: pa.chunked_array([texts]),
}
OF_TEXTS = ("strings of pandas", "categories of polars", "dictionary of pyarrow")
ANY: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda cells: np.array(cells, dtype=object),
    "pandas": lambda cells: pd.Series(cells, dtype=object),
    "categories of pandas": lambda cells: pd.Series(cells, dtype=object).astype("category"),
}


def _law(design: Design) -> np.ndarray:
    return np.arange(1, len(design.options) + 1) / sum(range(len(design.options) + 1))


def _reads_back(design: Design, answers: Any, hold: Callable[[list[Any]], Any]) -> None:
    """Randomized labels are estimated and scored like their codes."""
    reports = design.randomize(answers, rng=np.random.default_rng(3))
    again = hold(reports.tolist())
    told = {str(label): code for code, label in enumerate(design.report_options)}
    codes = [told[str(report)] for report in reports.tolist()]
    assert design.estimate(again).value == pytest.approx(design._estimate_from_raw_reports(codes).value)
    assert np.array_equal(design.scores(again), design._scores_of_raw_reports(codes))
    counts = np.bincount(codes, minlength=len(told))
    assert abs(counts / counts.sum() - _law(design) @ design.matrix).max() < 5 / np.sqrt(counts.sum())


def _answers(design: Design, n: int = 2000) -> list[str | int]:
    codes = np.random.default_rng(1).choice(len(design.options), n, p=_law(design))
    return [design.options[code] for code in codes]


@pytest.mark.slow
@each(labels=SETS, held=ANY)
def test_labels_of_any_kind_make_the_way_there_and_back(labels: str, held: str) -> None:
    design = k_ary(SETS[labels], epsilon=1.0)
    _reads_back(design, ANY[held](_answers(design)), ANY[held])


@pytest.mark.parametrize(
    ("labels", "held"),
    [
        (name, held)
        for name, labels in SETS.items()
        for held in TYPED
        if held not in OF_TEXTS or any(isinstance(label, str) for label in labels)
    ],
)
def test_columns_of_one_type_make_the_way_there_and_back(labels: str, held: str) -> None:
    """Numbers stay numbers and texts stay texts; if labels are of both kinds, the column contains texts."""
    design = k_ary(SETS[labels], epsilon=1.0)
    mixed = len({type(label) for label in design.options}) > 1
    answers = [str(answer) if mixed else answer for answer in _answers(design)]
    _reads_back(design, TYPED[held](answers), TYPED[held])


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "Float64", "float64"])
def test_points_in_a_column_with_room_for_missing_values_are_points(dtype: str) -> None:
    for labels in ("points", "points from above", "codes from above", "negative"):
        design = k_ary(SETS[labels], epsilon=1.0)
        _reads_back(design, pd.Series(_answers(design), dtype=dtype), lambda cells: pd.Series(cells, dtype=dtype))


@each(labels=SETS)
def test_every_option_alone_can_be_randomized_and_is_kept_most_often(labels: str) -> None:
    design = k_ary(SETS[labels], epsilon=3.0)
    for option in design.options:
        one = design.randomize(option, rng=np.random.default_rng(0))
        assert one in design.options
        assert type(one) in {type(label) for label in design.options}
        many = design.randomize([option] * 400, rng=np.random.default_rng(0)).tolist()
        # each is unchanged with probability 0.83 or more; fewer than half of 400 have a probability below 1e-40
        assert many.count(option) > 200


def test_both_kinds_of_label_stay_what_they_are() -> None:
    design = k_ary(MIXED, epsilon=8.0)
    made = design.randomize([1, "undisclosed", 2.0, "3"], rng=np.random.default_rng(0))
    assert made.tolist() == ["1", "undisclosed", "2", "3"]  # one value was a text, so all are texts
    assert design.randomize([1, "undisclosed"], rng=np.random.default_rng(0)).tolist() == [1, "undisclosed"]
    with pytest.raises(ValueError, match="2 of 3 that are not"):
        design.estimate([1, 1.5, True])


@pytest.mark.parametrize("oracle", [oracles.subset, oracles.unary, oracles.local_hash, oracles.best])
def test_oracles_take_labels_of_both_kinds(oracle: Any) -> None:
    made = oracle(MIXED, 2.0)
    answers = [1, 2, 3, "undisclosed"] * 10
    assert made.estimate(made.randomize(answers, rng=np.random.default_rng(0))).n == 40
    boxes = oracles.tick_boxes(MIXED, 2.0)
    assert boxes.estimate(boxes.randomize([[1, "undisclosed"], []] * 10, rng=np.random.default_rng(0))).n == 20


@pytest.mark.parametrize(
    ("labels", "given"),
    [
        (("1", "2", "3"), [1, 2, 2]),
        (("1", "2"), [1, 1]),
        (("2", "1", "0"), np.array([2, 1, 0])),
        (("yes", "no"), [True, False]),
        (("Ja", "Nein"), [1, 0]),
    ],
)
def test_numbers_that_look_like_other_labels_are_refused(labels: tuple[str, ...], given: Any) -> None:
    """Read as a code, 1 would mean "2", and True would mean "no"."""
    design = k_ary(labels, epsilon=1.0)
    for verb in (design.randomize, design.estimate, design.scores):
        with pytest.raises(TypeError, match="must be given as the texts of the options"):
            verb(given)
    assert warner("3/4").estimate([True, False]).n == 2
    assert k_ary(("0", "1"), epsilon=1.0).estimate([0, 1]).n == 2


@pytest.mark.parametrize("labels", [(1, 0), (1, 2), (2, "none"), ("1", "2"), ("yes", "no"), ("no", "yes")])
def test_waves_with_any_labels_are_compared(labels: tuple[str | int, ...]) -> None:
    """No answer changes, so the change is 0 within 5 standard errors; nearly all people have the second answer."""
    memo = Memo(k_ary(labels, epsilon=2.0), k_ary(labels, epsilon=2.0))
    rng = np.random.default_rng(5)
    truths = np.repeat([1, 0], [900, 100])
    memos = draw_memos(memo, 1000, rng)
    waves = [[labels[code] for code in draw_wave(memo, memos, truths, rng)] for _ in range(2)]
    found = memo.estimate(waves[0])
    assert abs(found.value - 0.9) < 5 * found.se
    change = memo.change(*waves)
    assert abs(change.value) < 5 * change.se
