import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.curator.verbs import REGIONS, SEXES, curator, people
from tests.work import calls
from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Zcdp
from toolkit.curator.counts import ALL
from toolkit.curator.curator import Curator
from toolkit.frames.values import OTHER, between

BY = [{"region": REGIONS, "sex": SEXES}, {"sex": SEXES}, {}]


def test_tables_agree_and_are_near_the_truth() -> None:
    frame = people(5000)
    keeper = Curator(frame, Ledger(Zcdp(2)), "replace")
    found = keeper.count(by=BY, rho=1)
    assert keeper.ledger.entries()[0].label == "count by 3 tables: region × sex, sex, all"
    assert keeper.ledger.spent == Zcdp(1)
    assert found.axes == ("region", "sex")
    assert found.labels[0] == ("north", "f")
    assert found.labels[6:] == ((ALL, "f"), (ALL, "m"), (ALL, ALL))
    cells = found.value[:6].reshape(3, 2)
    assert cells.sum(axis=0) == pytest.approx(found.value[6:8])
    assert found.value[8] == pytest.approx(cells.sum())
    kept = frame[frame.region.isin(REGIONS)]
    truth = pd.crosstab(kept.region, kept.sex).to_numpy()
    assert np.all(np.abs(cells - truth) < 8 * found.se[0])
    wide = found.to_frame(wide="sex")
    assert wide.loc[ALL, ALL] == pytest.approx(found.value[8])


def test_a_row_without_a_listed_key_is_in_no_table_and_with_other_in_all() -> None:
    frame = people(3000)
    some = curator(frame).count(by=[{"region": REGIONS}, {"sex": SEXES}], epsilon=50)
    assert some.value[:3].sum() == pytest.approx((frame.region != "elsewhere").sum(), abs=3)
    every = curator(frame).count(by=[{"region": [*REGIONS, OTHER]}, {"sex": SEXES}], epsilon=50)
    assert every.value[4:].sum() == pytest.approx(3000, abs=3)


def test_one_column_and_its_total_have_plain_labels() -> None:
    found = curator(people()).count(by=[{"sex": SEXES}, {}], where={"age": between(18, 40)}, epsilon=1)
    assert found.labels == ("f", "m", ALL)
    assert found.release.query["where"] == "age between 18 and 40"
    assert found.release.query["tables"] == [["sex"], []]


def test_the_document_says_that_the_tables_were_made_to_agree(tmp_path: Path) -> None:
    found = curator(people()).count(by=BY, epsilon=1)
    told = json.loads(found.publish(tmp_path / "t").read_text(encoding="utf-8"))
    assert told["post_processing"] == ["weighted least squares: the tables agree, unbiased"]
    assert [part["sensitivity"] for part in told["noise"]["tables"]] == ["2", "2", "2"]
    with pytest.raises(ValueError, match="only one table can be tidied"):
        found.tidied(600)


@pytest.mark.parametrize(("neighbors", "times"), [("replace", 2), ("add_remove", 1)])
def test_with_several_rows_a_person_every_table_has_noise_for_all_of_them(neighbors: str, times: int) -> None:
    found = curator(people(), neighbors, person="id", rows=3).count(by=BY, epsilon=1)
    assert {part["sensitivity"] for part in found.release.noise["tables"]} == {str(3 * times)}
    found = Curator(people(), Ledger(Zcdp(1)), neighbors, person="id", rows=3).count(by=BY, rho=1)
    lengths = [float(Fraction(part["sensitivity"])) for part in found.release.noise["tables"]]
    assert lengths == pytest.approx([3 * math.sqrt(times)] * 3)  # all rows in one cell, and all in another


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ([], "a list of tables with 1 to 1,000,000 cells in all, got no column"),
        ([{}], "got no column"),
        ([{"sex": SEXES}, {"sex": SEXES}], "a list of different tables, got the same table twice"),
        ([{"sex": SEXES}, {"sex": ["f"]}], "must have the same keys in all tables"),
        ([{"sex": ["f", ALL]}, {}], "a key must not be called"),
        ([{"sex": "f"}], "`by` must be a list"),
        ([["sex"]], "`by` must be a mapping"),
        ("sex", "^`by` must be a mapping"),
        ([{"age": range(10**6)}, {}], "got 1,000,001 cells"),
        ([{"age": range(1000), "id": range(1001)}], "got 1,001,000 cells"),
        ([{"age": range(999), "id": range(1001)}, {"id": range(1001)}], "got 1,001,000 cells"),
    ],
)
def test_lists_that_are_no_tables_are_refused_before_the_charge(by: Any, words: str) -> None:
    keeper = curator(people())

    def refused() -> None:
        with pytest.raises((ValueError, TypeError), match=words):
            keeper.count(by=by, epsilon=1)

    assert calls(refused) < 10_000  # no function call for each of a million keys
    assert keeper.ledger.entries() == ()


def test_tables_of_too_many_columns_are_rejected() -> None:
    """The columns of all tables together must have fewer than 2**62 cells."""
    frame = pd.DataFrame({f"q{i}": [3] * 10 for i in range(31)})
    with pytest.raises(ValueError, match=r"fewer than 2\*\*62 combinations of keys"):
        Curator(frame, Ledger(Zcdp(1)), "replace").count(by=[{name: range(4)} for name in frame], rho=1)
