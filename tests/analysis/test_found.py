import numpy as np

from toolkit import forced, k_ary
from toolkit.analysis.found import Found, nobody
from toolkit.local import numeric


def test_where_there_is_no_report_there_is_no_number() -> None:
    for design, shape in (
        (forced("1/6", "1/6"), ()),
        (k_ary(3, epsilon=1.0), (3,)),
        (numeric.one_bit((0, 1), 1), ()),
    ):
        empty = nobody(design)
        assert np.shape(empty.value) == shape
        assert np.all(np.isnan(empty.value))
        assert empty.n == 0
        one = Found("q", (), empty, 5, 5)
        assert one.used == 0
        assert len(one.entries()) == max(1, *shape, 1) if shape else 1
