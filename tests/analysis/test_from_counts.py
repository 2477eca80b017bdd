import pandas as pd

from tests.analysis.reference_survey import DIE, WARNER
from toolkit.analysis import Sample
from toolkit.analysis.estimating import CountSource
from toolkit.analysis.from_sample import SampleSource
from toolkit.analysis.reports import Reader

FRAME = pd.DataFrame({"a": [1, 0, None, 1], "b": ["yes", "no", "no", None], "g": ["x", "x", "y", "y"]})
READERS = {"a": Reader("a", DIE), "b": Reader("b", WARNER)}


def test_counts_and_rows_tell_the_same() -> None:
    counted = CountSource(FRAME, ("g",), READERS)
    drawn = SampleSource(FRAME, ("g",), READERS, Sample())
    assert counted.groups() == drawn.groups() == {("x",): 2, ("y",): 2}
    assert counted.groupless() == drawn.groupless() == 0
    for name in READERS:
        for one, other in zip(counted.found(name, "moment"), drawn.found(name, "moment"), strict=True):
            assert (one.group, one.used, one.missing) == (other.group, other.used, other.missing)
            assert one.estimate.value == other.estimate.value
    assert counted.counts("a")[("x",)].tolist() == [1, 1]


def test_pairs_need_both_reports() -> None:
    design = DIE.joint(WARNER)
    pairs = CountSource(FRAME, (), READERS).pairs("a", "b", design)
    assert pairs[()].n == 2
