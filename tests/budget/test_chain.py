"""The chain of rows: what a careless hand does to a ledger's file is noticed when it is opened or listed."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolkit.budget.charges import (
    Entry,
    RecordError,
    deserialize,
    entry_from_row,
    first_position,
    row_from_entry,
    row_link,
    serialize,
    verify_rows,
)
from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Approx, Loss, Pure, Zcdp

START = first_position("pure 1", None, "mark", Pure(0))
BROKEN = "the ledger's rows must be as they were written|must only grow"


def spent(path: Path) -> Ledger:
    """Five charges of different sizes."""
    ledger = Ledger(Pure(1), path)
    for number in range(1, 6):
        more: dict[str, Any] = {"mechanism": "Laplace", "neighbors": "replace", "unit": "row", "terms": "all"}
        ledger.charge(Pure(f"{number}/100"), f"question {number}", **more)
    return ledger


def by_hand(path: Path, *statements: str) -> None:
    """What somebody does in an SQLite browser who has found out how to drop a trigger."""
    with closing(sqlite3.connect(path)) as database:
        for name in ("entries_keep", "entries_stay", "entries_once", "head_keep"):
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
        database.commit()


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "label = 'another question'", "mechanism = ''", "neighbors = NULL", "loss = 'pure 0'",
        "charged = 'pure 0'", "total = 'pure 0'", "charged = 'pure 1/10', total = 'pure 1/10'", "link = ''",
        "label = x'00'", "unit = 'person'", "unit = NULL", "terms = ''", "unit = NULL, terms = NULL",
    ],
)  # fmt: skip
def test_a_row_that_was_edited_is_noticed(change: str, tmp_path: Path) -> None:
    for number in (1, 3, 5):
        path = tmp_path / f"{number}.db"
        ledger = spent(path)
        by_hand(path, f"UPDATE entries SET {change} WHERE number = {number}")  # noqa: S608
        for use in (ledger.entries, lambda path=path: Ledger.open(path), lambda path=path: Ledger(Pure(1), path)):
            with pytest.raises(RecordError, match=BROKEN):
                use()  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM entries WHERE number = 1"],
        ["DELETE FROM entries WHERE number = 3"],
        ["DELETE FROM entries WHERE number = 3", "UPDATE entries SET number = number - 1 WHERE number > 3"],
        ["DELETE FROM entries WHERE number = 5"],  # the chain is whole; the note beside the file knows better
        ["DELETE FROM entries"],
        ["UPDATE head SET ceiling = 'pure 100'"],
        ["UPDATE head SET neighbors = 'replace'"],
        ["UPDATE head SET mark = ''"],
        ["UPDATE head SET unit = 'event'"],
        ["UPDATE entries SET number = 9 WHERE number = 2", "UPDATE entries SET number = 2 WHERE number = 3"],
        ["INSERT INTO entries VALUES (6, '', '', NULL, 'pure 0', 'pure 0', 'pure 15/100', '', NULL, NULL)"],
        [
            (
                "INSERT INTO entries SELECT 6, label, mechanism, neighbors, loss, charged, total, link, "
                "unit, terms FROM entries WHERE number = 5"
            )
        ],
    ],
)
def test_rows_removed_moved_or_inserted_are_noticed_by_every_ledger(statements: list[str], tmp_path: Path) -> None:
    """Both a living ledger and a new one notice the change."""
    path = tmp_path / "budget.db"
    ledger = spent(path)
    by_hand(path, *statements)
    for use in (ledger.entries, lambda: Ledger.open(path)):
        with pytest.raises(RecordError, match=BROKEN):
            use()  # type: ignore[operator]


@pytest.mark.parametrize(
    "change", ["total = 'pure 0'", "charged = 'pure 0'", "charged = 'pure 1/100', total = 'pure 1/100'"]
)
def test_nothing_is_charged_on_top_of_a_last_row_that_was_edited(change: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = spent(path)
    by_hand(path, f"UPDATE entries SET {change} WHERE number = 5")  # noqa: S608
    with pytest.raises(RecordError, match="must only grow"):
        ledger.charge(Pure(0.1))


def rows(*entries: Entry) -> list[tuple[tuple, str]]:
    """Entries chained as a record does it, whatever they say."""
    linked, link = [], START.link
    for entry in entries:
        link = row_link(link, row_from_entry(entry))
        linked.append((row_from_entry(entry), link))
    return linked


ONE = Entry(1, "a", "", None, Pure(0.25), Pure(0.25), Pure(0.25))
TWO = Entry(2, "b", "", None, Pure(0.5), Pure(0.5), Pure(0.75))


def test_a_whole_chain_is_followed_to_its_end() -> None:
    places, entries = zip(*verify_rows(START, rows(ONE, TWO)), strict=True)
    assert entries == (ONE, TWO)
    assert [(place.number, place.total) for place in places] == [(1, Pure(0.25)), (2, Pure(0.75))]
    (further,) = verify_rows(places[0], rows(ONE, TWO)[1:])
    assert further == (places[1], TWO)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (replace(TWO, total=Pure(0.5)), "not the sum of the charges"),
        (replace(TWO, total=Pure(0.76)), "not the sum of the charges"),
        (replace(TWO, charged=Zcdp(0.5), total=Zcdp(0.75)), "not the sum of the charges"),
        (replace(TWO, charged=Zcdp(0.5)), "not the sum of the charges"),
        (replace(TWO, charged=Zcdp(0.5), total=Pure(0.25) + Zcdp(0.5)), "not the sum of the charges"),
        (replace(TWO, number=3), "changed, moved or missing"),
    ],
)
def test_sums_and_numbers_are_checked_even_where_the_links_fit(wrong: Entry, words: str) -> None:
    with pytest.raises(RecordError, match=words):
        list(verify_rows(START, rows(ONE, wrong)))


def test_two_files_with_the_same_charges_have_no_link_in_common(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        spent(tmp_path / name)
    links = []
    for name in ("a.db", "b.db"):
        with closing(sqlite3.connect(tmp_path / name)) as database:
            links += [link for (link,) in database.execute("SELECT link FROM entries")]
    assert len(set(links)) == 10


@pytest.mark.parametrize("loss", [Pure("1/3"), Approx("1/3", "1e-9"), Zcdp(0)])
def test_entries_are_written_and_read_without_loss(loss: Loss) -> None:
    entry = Entry(7, "a ε label", "Laplace", "replace", loss, loss, loss)
    assert entry_from_row(row_from_entry(entry)) == entry_from_row(row_from_entry(entry)[:7]) == entry
    said = replace(entry, unit="person", terms="at most 3 rows")
    assert entry_from_row(row_from_entry(said)) == said
    assert deserialize(serialize(loss)) == loss


@pytest.mark.parametrize("text", ["", "pure", "pure one", "pure -1", "pure 1/0", "pure 1 2", "magic 1", None])
def test_a_loss_that_cannot_be_read_is_never_taken_for_none(text: Any) -> None:
    with pytest.raises(RecordError, match="a loss that cannot be read: the spent budget is unknown"):
        deserialize(text)


@pytest.mark.parametrize("opening", [Ledger.open, lambda path: Ledger(Pure(1), path)])
def test_a_ledger_is_opened_where_nothing_was_changed(opening: Callable[[Path], Ledger], tmp_path: Path) -> None:
    ledger = spent(tmp_path / "budget.db")
    again = opening(tmp_path / "budget.db")
    assert (again.entries(), again.spent, again.neighbors) == (ledger.entries(), Pure("15/100"), "replace")
