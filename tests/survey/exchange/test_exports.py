"""The contract of reading: the same answers are read from every format in which a tool exports them."""

import warnings

import pandas as pd
import pytest

from tests.slowly import slowly
from tests.survey.exchange.exports import LABELS, PEOPLE, asked, expected, exports
from toolkit.survey import read_reports

LEFT_OUT = {
    "qualtrics": {"preview": 1, "test": 1, "spam": 1, "unfinished": 1},
    "limesurvey": {"unfinished": 1},
    "redcap": {"unfinished": 2},
    "kobo": {"not approved": 1},
}


@pytest.mark.parametrize("labels", slowly(LABELS, set(LABELS) - {"words"}))
@pytest.mark.parametrize("shape", exports("words"))
def test_answers_come_back_from_every_shape(tmp_path, shape, labels):
    export = exports(labels)[shape]
    path = tmp_path / "export.csv"
    path.write_bytes(export.content())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = read_reports(path, asked(labels), **export.arguments)
    read = {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}
    assert read == expected(LABELS[labels], export)
    counts = LEFT_OUT[shape.partition(":")[0]]
    assert frame.attrs["left_out"] == counts
    n = sum(counts.values())
    assert any(f"{n} of {len(PEOPLE) + n} rows left out" in str(warning.message) for warning in caught)
