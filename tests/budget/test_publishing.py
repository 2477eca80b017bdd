import csv
import hashlib
import io
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit import Laplace, warner
from toolkit.budget.publishing import ReleaseFacts, promise_of
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.core.tables import TIDIED, csv_text, key_columns, tidied


class Noted:
    def __init__(self) -> None:
        self.seen: list[tuple[int, str, str]] = []

    def add(self, entry: int, file: str, digest: str) -> None:
        self.seen.append((entry, file, digest))


def released(register: Noted | None = None) -> Estimate:
    found = Laplace.for_epsilon(1).release(np.array([40, -2, 7]), labels=["a", "b", "c"])
    facts = ReleaseFacts(
        query={"statistic": "count by region (3)", "by": {"region": ["a", "b", "c"]}, "where": "age > 3"},
        unit={"person": "one row a person", "neighbors": "replace"},
        noise={"mechanism": "Laplace", "sensitivity": "1", "norm": "L1", "scale": 1.0, "sd": 1.357},
        ledger={"id": "x", "entry": 4, "loss": "ε = 1", "before": "ε = 0", "after": "ε = 1", "ceiling": "ε = 2"},
        register=register,
    )
    return replace(found, release=facts)


def test_three_files_hold_the_table_and_all_that_is_public(tmp_path: Path) -> None:
    noted = Noted()
    found = released(noted)
    assert found.publish(tmp_path / "table") == tmp_path / "table.json"
    told = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    table = (tmp_path / "table.csv").read_bytes()
    assert told["table"]["sha256"] == hashlib.sha256(table).hexdigest()
    assert noted.seen == [(4, "table.json", told["table"]["sha256"])]
    assert table.decode().splitlines()[1].startswith(f"a,{int(found.value[0])},1.4,")
    assert told["query"]["where"] == "age > 3"
    assert told["schema"] == "toolkit.release/1"
    assert told["randomness"] == "operating system"
    assert told["estimate"]["level"] == 0.95
    assert set(told["table"]["columns"]) == {"label", "estimate", "se", "low", "high"}
    page = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert page.startswith("# count by region (3)\n")
    assert "2.72 times as probable" in page
    assert str(tmp_path) not in page + json.dumps(told)


def test_a_publication_is_not_replaced_unless_asked(tmp_path: Path) -> None:
    released().publish(tmp_path / "table", title="Tables 1")
    before = (tmp_path / "table.csv").read_bytes()
    with pytest.raises(ValueError, match=r"must not replace another, got table\.csv, table\.md, table\.json"):
        released().publish(tmp_path / "table")
    assert (tmp_path / "table.csv").read_bytes() == before
    released().publish(tmp_path / "table", overwrite=True)


@pytest.mark.parametrize("name", ["table.html", "table.HTML"])
def test_the_page_is_of_the_kind_that_the_name_asks_for(name: str, tmp_path: Path) -> None:
    released().publish(tmp_path / name)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["table.csv", "table.html", "table.json"]
    assert "<h1>count by region (3)</h1>" in (tmp_path / "table.html").read_text(encoding="utf-8")


def test_what_no_curator_released_is_refused(tmp_path: Path) -> None:
    for estimate in (warner("3/4").estimate_counts([60, 40]), Laplace.for_epsilon(1).release(3)):
        with pytest.raises(ValueError, match="only the release of a curator"):
            estimate.publish(tmp_path / "table")
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be in an existing folder, got .*nowhere: nothing was written"):
        released().publish(tmp_path / "nowhere" / "table")
    with pytest.raises(TypeError, match="`path` must be a text or a Path, got int"):
        released().publish(3)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_simulated_release_says_so_first(tmp_path: Path) -> None:
    replace(released(), loss=None).publish(tmp_path / "table")
    assert "protect nobody" in (tmp_path / "table.md").read_text(encoding="utf-8").splitlines()[2]
    assert json.loads((tmp_path / "table.json").read_text())["randomness"] == "a generator: simulated"


def test_what_was_done_afterwards_is_in_the_document(tmp_path: Path) -> None:
    found = released()
    for changed, step in (
        (found.tidied(45), TIDIED),
        (found.contrast([1, -1, 0]), "a weighted sum of its entries"),
        (found.map(np.exp, np.exp), "a function of its entries"),
    ):
        changed.publish(tmp_path / "table", overwrite=True)
        assert json.loads((tmp_path / "table.json").read_text())["post_processing"] == [step]
        assert step in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert (found - released()).release is None


def test_a_tidied_table_has_its_total_and_no_error() -> None:
    made = released().tidied(45)
    assert made.value.sum() == 45
    assert made.value.min() >= 0
    assert np.isnan(made.se).all()
    assert TIDIED in made.notes
    assert np.isnan(made.interval().low).all()


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Pure(0.5), "more than 1.65 times"), (Pure(1000), "e^1000 times"), (Pure(3), "20.1 times"),
        (Approx(1, 1e-6), "of any set of outcomes becomes at most 2.72 times as large, plus δ = 1e-06."),
        (Zcdp("1/50"), "ε = 0.9000 with δ = 1e-06."), (Zcdp("1e-12"), "ε = 0 with δ"),
        (Zcdp(math.inf), "ε = inf with δ"), (None, "no privacy"),
    ],
)  # fmt: skip
def test_a_promise_is_never_smaller_than_the_truth(loss: object, words: str) -> None:
    assert words in promise_of(loss)
    if isinstance(loss, Pure) and loss.epsilon < 100:
        assert float(words.split()[-2]) >= math.exp(loss.epsilon)


@pytest.mark.parametrize("name", ["income", "income.csv", "income.json", "income.md", "income.CSV"])
def test_a_path_with_the_ending_of_one_file_is_that_of_all_three(name: str, tmp_path: Path) -> None:
    assert released().publish(tmp_path / name) == tmp_path / "income.json"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["income.csv", "income.json", "income.md"]


def test_another_ending_is_a_part_of_the_name(tmp_path: Path) -> None:
    assert released().publish(tmp_path / "income.2024").name == "income.2024.json"
    assert released().publish(tmp_path / "income.v1.csv").name == "income.v1.json"


def test_steps_are_added_in_order_and_nothing_else_changes() -> None:
    facts = ReleaseFacts({"statistic": "count"}, {}, {}, {"entry": 1})
    assert facts.after("one").after("two").steps == ("one", "two")
    assert facts.steps == ()
    assert facts.after("one").query is facts.query


def test_facts_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(ReleaseFacts({"a": 1}, {}, {}, {})))  # noqa: S301
    assert again.query == {"a": 1}


VALUES = st.lists(st.floats(-50, 500), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=60)
@given(VALUES, st.integers(0, 2000))
def test_a_tidied_table_is_whole_not_negative_and_has_its_total(values: list[float], total: int) -> None:
    found = tidied(values, total)
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert found.sum() == total


def test_the_errors_of_a_sparse_table_are_those_of_the_reference() -> None:
    """200 cells, 190 empty, n = 1220, epsilon = 0.5: rmse 1.24, +32.6 in empty cells, -3.4 in the largest.
    300 simulated tables: standard errors of 0.01, 0.4 and 0.2.
    """
    rng = np.random.default_rng(1)
    truth = np.zeros(200)
    truth[:10] = [500, 300, 200, 100, 50, 30, 20, 10, 5, 5]
    q = np.exp(-0.5)
    noise = rng.geometric(1 - q, (300, 200)) - rng.geometric(1 - q, (300, 200))
    made = np.array([tidied(truth + one, 1220) for one in noise]) - truth
    assert np.sqrt((made**2).mean()) == pytest.approx(1.24, abs=0.06)
    assert made[:, 10:].sum(axis=1).mean() == pytest.approx(32.6, abs=2)
    assert made[:, 0].mean() == pytest.approx(-3.4, abs=1)


def test_without_a_total_it_is_the_rounded_sum() -> None:
    assert tidied([3.4, -1.0, 5.0], None).sum() == 7
    assert tidied([-3.4, -1.0], None).tolist() == tidied([3.4, 1.0], 0).tolist() == [0, 0]


@pytest.mark.parametrize("value", [3.0, [1.0, float("nan")]])
def test_what_is_no_table_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="only a table of numbers"):
        tidied(value, 3)


NAN = math.nan


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_every_digit_of_a_whole_number_is_written() -> None:
    large = Estimate(np.array([2**53 + 1, -3]), np.ones(2), ("a", "b"), None, None, None, "noise")
    assert [row[:2] for row in read(large.to_csv())[1:]] == [["a", "9007199254740993"], ["b", "-3"]]


def test_a_table_may_say_how_many_values_are_behind_each_cell() -> None:
    text = csv_text(["region"], [("north", 4.1, 0.12, 3.9, 4.3)], whole=False, counts=[(-12.0, 3.21)])
    assert read(text) == [
        ["region", "estimate", "se", "low", "high", "count", "count se"],
        ["north", "4.10", "0.12", "3.90", "4.30", "-12", "3.2"],
    ]


def test_digits_follow_the_error_and_intervals_are_rounded_outwards() -> None:
    text = csv_text(["region"], [("north", 41.23456, 0.1234, 40.9871, 41.4821)], whole=False)
    assert read(text) == [["region", "estimate", "se", "low", "high"], ["north", "41.23", "0.12", "40.98", "41.49"]]


def test_a_number_without_any_error_decides_no_digits() -> None:
    rows = [("north", 41.23456, 0.1234, 40.9871, 41.4821), ("south", 7.0, 0.0, 7.0, 7.0)]
    assert read(csv_text(["region"], rows, whole=False))[1:] == [
        ["north", "41.23", "0.12", "40.98", "41.49"],
        ["south", "7.00", "", "7.00", "7.00"],
    ]


def test_whole_counts_stay_whole() -> None:
    text = csv_text(["region", "sex"], [(("n", "f"), -3, 2.799178, -9.0, 3.0)], whole=True)
    assert read(text)[1] == ["n", "f", "-3", "2.8", "-9", "3"]


def test_a_large_error_leaves_no_decimals() -> None:
    assert read(csv_text([], [("total", 43067.2, 281.4, 42515.1, 43619.3)], whole=False))[1] == [
        "total", "43067", "280", "42515", "43620",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"), [(31.5, "31.5"), (-4.0, "-4"), (2.0**53 - 1, f"{2**53 - 1}"), (2.0**53, "9007199254740992.0")]
)
def test_a_number_without_error_keeps_its_digits(value: float, text: str) -> None:
    """Values that are not given stay empty. From 2**53 on a float may stand for other whole numbers, too."""
    assert read(csv_text([], [("median", value, NAN, NAN, NAN)], whole=False))[1] == ["median", text, "", "", ""]


def test_a_key_that_a_spreadsheet_would_run_is_text_and_a_number_is_not() -> None:
    rows = [(key, -5, 1.0, -7.0, -3.0) for key in ("=1+1", "+x", "-y", "@z", -4, 'a,"b"\nc', "plain")]
    told = read(csv_text(["k"], rows, whole=True))
    assert [line[0] for line in told[1:]] == ["'=1+1", "'+x", "'-y", "'@z", "-4", 'a,"b"\nc', "plain"]
    assert {line[1] for line in told[1:]} == {"-5"}


def test_a_column_that_is_called_like_a_number_is_renamed() -> None:
    assert key_columns(["estimate", "sex"]) == ["key estimate", "sex"]
