import copy
import pickle
from pathlib import Path

from toolkit.budget.charges import MemoryRegister, Publication
from toolkit.budget.ledger import Ledger
from toolkit.budget.ledger_file import FileRegister
from toolkit.core.loss import Pure


def test_a_file_beside_the_ledger_lists_what_was_published(tmp_path: Path) -> None:
    register = FileRegister(tmp_path / "budget.db")
    assert register.publications() == ()
    register.add(1, "table.json", "ab" * 32)
    register.add(3, "täble.json", "cd" * 32)
    assert register.publications()[1] == Publication(3, "täble.json", "cd" * 32)
    assert FileRegister(tmp_path / "budget.db").publications() == register.publications()
    assert (tmp_path / "budget.db-published").exists()


def test_a_line_that_is_not_whole_says_nothing(tmp_path: Path) -> None:
    register = FileRegister(tmp_path / "budget.db")
    register.add(1, "table.json", "ab")
    with register.path.open("a") as file:
        file.write('{"entry": 2, "fi\n[1]\n{}\n')
    assert [one.entry for one in register.publications()] == [1]


def test_a_list_in_memory_can_be_pickled_with_an_estimate() -> None:
    register = MemoryRegister()
    register.add(1, "table.json", "ab")
    assert pickle.loads(pickle.dumps(register)).publications() == register.publications()  # noqa: S301
    copy.deepcopy(register).add(2, "copy.json", "cd")
    assert [one.entry for one in register.publications()] == [1, 2]


def test_a_ledger_reports_every_charge_with_its_documents(tmp_path: Path) -> None:
    ledger = Ledger(Pure(1), tmp_path / "budget.db", neighbors="replace")
    ledger.charge(Pure("1/4"), "mean of a|b")
    ledger.charge(Pure("1/2"), "count by region (4)")
    ledger.register.add(2, "table.json", "ab" * 32)
    report = Ledger.open(tmp_path / "budget.db").report()
    assert f"ledger {ledger.id}" in report
    lines = report.splitlines()
    assert lines[-2] == "| 1 | mean of a\\|b |  | not stated | ε = 0.25 | ε = 0.25 | ε = 0.25 |  |"
    assert lines[-1].endswith("| ε = 0.75 | table.json (SHA-256 abababababababab…) |")
    assert "Spent ε = 0.75 of ε = 1" in report
    assert str(tmp_path) not in report
    assert "<td>count by region (4)</td>" in report.save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert repr(report) == report._repr_markdown_() == str(report)  # a notebook shows lines, and no \\n


def test_a_line_break_in_the_name_of_a_file_breaks_no_line_of_the_report() -> None:
    ledger = Ledger(Pure(1))
    ledger.charge(Pure(1), "a count")
    ledger.register.add(1, "a\nb\u2028c|d.json", "ab" * 32)
    assert len(ledger.report().splitlines()) == 7
    assert "a b c\\|d.json" in ledger.report()


def test_a_ledger_keeps_its_name_and_no_two_have_the_same(tmp_path: Path) -> None:
    one, two = Ledger(Pure(1), tmp_path / "a.db"), Ledger(Pure(1), tmp_path / "b.db")
    assert one.id == Ledger.open(tmp_path / "a.db").id != two.id
    assert Ledger(Pure(1)).id != Ledger(Pure(1)).id
    assert len(one.id) == len(Ledger(Pure(1)).id) == 16
