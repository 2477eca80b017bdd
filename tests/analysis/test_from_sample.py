import numpy as np
import pandas as pd
import pytest

from tests.analysis.reference_survey import DIE, UNRELATED, WARNER, survey
from toolkit.analysis import Sample, estimates
from toolkit.analysis.estimating import CountSource
from toolkit.analysis.from_sample import SampleSource
from toolkit.analysis.reports import Reader


def test_groups_stand_in_order_and_rows_without_one_are_counted() -> None:
    frame = pd.DataFrame({"a": [1, 0, 1, 0, 1], "g": ["y", "x", None, "y", "x"]})
    source = SampleSource(frame, ("g",), {"a": Reader("a", DIE)}, Sample())
    assert source.groups() == {("x",): 2, ("y",): 2}
    assert list(source.groups()) == [("x",), ("y",)]
    assert source.groupless() == 1


def test_bands_of_age_group_the_rows_of_a_sample() -> None:
    data = survey()
    data["band"] = pd.cut(data.age, [17, 39, 59, 99])
    drawn = estimates(data, {"forced": DIE}, by="band", sample=Sample(weights=np.ones(2400)))
    plain = estimates(data, {"forced": DIE}, by="band")
    assert list(drawn["forced"]) == list(plain["forced"])
    for band, estimate in drawn["forced"].items():
        assert estimate.value == pytest.approx(plain["forced"][band].value)


def test_questions_to_the_same_people_go_together() -> None:
    data = survey()
    sample = Sample(weights=np.ones(2400))
    gap = estimates(data, {"forced": DIE, "unrelated": UNRELATED}, sample=sample).difference("forced", "unrelated")
    assert (gap.value, gap.se) == pytest.approx((-0.002916667, 0.014915432), abs=5e-10)
    assert gap.covers == "sampling (weights, 2399 df) and randomization"


def test_a_share_outside_names_no_method_that_a_sample_refuses() -> None:
    """One yes of ten, where the die makes one of six; with weights there is the unbiased estimate alone."""
    frame = pd.DataFrame({"a": [0] * 9 + [1]})
    found = estimates(frame, {"a": DIE}, sample=Sample(weights=np.ones(10)))["a"]
    assert found.value < 0
    assert found.notes == ("the estimate lies outside 0 to 1, as an unbiased estimate may; use it in averages",)


FRAME = pd.DataFrame({"a": [1, 0, None, 1], "b": ["yes", "no", "no", None], "g": ["x", "x", "y", "y"]})
READERS = {"a": Reader("a", DIE), "b": Reader("b", WARNER)}


def test_counts_and_rows_tell_the_same() -> None:
    counted = CountSource(FRAME, ("g",), READERS)
    drawn = SampleSource(FRAME, ("g",), READERS, Sample())
    assert counted.groups() == drawn.groups() == {("x",): 2, ("y",): 2}
    assert counted.groupless() == drawn.groupless() == 0
    for name in READERS:
        for one, other in zip(
            counted.group_estimates(name, "moment"), drawn.group_estimates(name, "moment"), strict=True
        ):
            assert (one.group, one.used, one.missing) == (other.group, other.used, other.missing)
            assert one.estimate.value == other.estimate.value
    assert counted.counts("a")[("x",)].tolist() == [1, 1]


def test_pairs_need_both_reports() -> None:
    design = DIE.joint(WARNER)
    pairs = CountSource(FRAME, (), READERS).pairs("a", "b", design)
    assert pairs[()].n == 2
