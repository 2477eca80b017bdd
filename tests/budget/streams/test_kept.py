from pathlib import Path

from toolkit.budget.ledger import Ledger
from toolkit.budget.streams.kept import KeptStream
from toolkit.central.stream import RunningTotal, Tree
from toolkit.core.loss import Pure


def test_a_file_holds_what_it_takes_to_go_on(tmp_path: Path) -> None:
    ledger = Ledger(Pure(1))
    total = RunningTotal.for_epsilon(
        1, periods=9, window=3, neighbors="replace", sensitivity=2, per_person=2, way=Tree(9, 3, 2, 3)
    )
    weekly = ledger.every(total, "members", path=tmp_path / "weekly.db")
    for count in (1, 0, 2**62, -4):
        weekly.add(count)
    kept = KeptStream(tmp_path / "weekly.db")
    assert kept.entry == ledger.entries()[0]
    assert kept.periods() == total.kept
    assert not kept.seeded
    other = kept.total(None)
    assert (other.way, other.per_person, other.sensitivity, other.neighbors) == (total.way, 2, 2, "replace")
    assert other.period == 0
