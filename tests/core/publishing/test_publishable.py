import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from toolkit import Laplace, warner
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.core.publishing import TIDIED, ReleaseFacts, promise_of


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


def test_a_name_with_a_dot_keeps_it(tmp_path: Path) -> None:
    assert released().publish(tmp_path / "table.2024").name == "table.2024.json"


def test_what_no_curator_released_is_refused(tmp_path: Path) -> None:
    for estimate in (warner("3/4").estimate_counts([60, 40]), Laplace.for_epsilon(1).release(3)):
        with pytest.raises(ValueError, match="only what a curator released"):
            estimate.publish(tmp_path / "table")
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
        (Approx(1, 1e-6), "but for a chance of 1e-06"), (Zcdp("1/10"), "That is at most ε = "),
        (None, "no privacy"),
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
