"""Which report came with which token: a pool hides it from a person who reads the database once while
a collection is open.

A report and the pass that it spends must be written in one transaction, and databases mark what was written
together: PostgreSQL by the number of the transaction at every row, SQLite by the pages of a commit in its
log. So both go first into a pool, which is one value of one row: the reports of the last people in the order
of their random keys, and beside them, in the order of their hashes, the passes of the same people. The pool
is written again with every batch. When twice `LEAST` people or more are in it, all but `LEAST` reports, drawn
by lot, move to the table of reports, and as many passes, drawn by another lot, to the table of spent ones.

What remains to somebody who reads once: the lots know nothing of each other, and nothing else differs between
people. If n people were in the pool when a pass left it, the pass belongs to any one report that left with it
with a probability of at most 1 / n, n >= 20, and to any other report with at most 1 / 20. A pass that is
still in the pool belongs to any one report with at most 1 / (people in the pool), and they are at least 10 as
soon as 10 have answered. That holds even if the order in which people came is known from elsewhere, as long
as nothing tells the order of the reports; what is kept of looks at an open collection (settings that begin
with "shown") tells earlier reports from later ones. A person who reads twice learns more: who was new between the
two readings. Against somebody who goes on watching no order of rows helps; that is what blind access is for.

Of a survey of several waves, who reads each wave's database once has read several times: a number joins the
reports of one phone, and only who was in the group each time remains. There nothing leaves the pool before
the collection is closed: all reports so far lie beside all passes so far, and who reads each wave once
learns who had taken part in which waves by then, and nothing else that ties a pass to a report; how many that
tells apart, `patterns` of `consent/statement.py` says. For that the whole pool is
written again with every batch, in time that grows with the number of people in it.

References
----------
Serjantov, Dingledine, Syverson (2002). From a Trickle to a Flood: Active Attacks on Several Mix Types. (Pool
mixes.)
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from random import SystemRandom

LEAST = 10
"""People who stay in the pool; twice as many are there when some leave."""


@dataclass(frozen=True, repr=False)
class Pool:
    """Reports by key, and passes, of the same people; nothing in it tells which belong together."""

    reports: Mapping[bytes, str] = field(default_factory=dict)
    passes: frozenset[bytes] = frozenset()

    @classmethod
    def from_text(cls, text: str) -> "Pool":
        if not text:
            return cls()
        data = json.loads(text)
        return cls(
            {bytes.fromhex(key): body for key, body in data["reports"].items()},
            frozenset(map(bytes.fromhex, data["passes"])),
        )

    def to_text(self) -> str:
        """As text, in the order of keys and hashes; empty if nobody is in it."""
        if not self.reports:
            return ""
        reports = {key.hex(): self.reports[key] for key in sorted(self.reports)}
        passes = [one.hex() for one in sorted(self.passes)]
        return json.dumps({"reports": reports, "passes": passes}, ensure_ascii=False, separators=(",", ":"))


def mix(
    pool: Pool, reports: Mapping[bytes, str], passes: Collection[bytes], *, hold: bool = False
) -> tuple[Pool, Pool]:
    """The pool after these people have joined it, and what leaves it; nothing does if it is to `hold` all."""
    together = Pool({**pool.reports, **reports}, pool.passes | frozenset(passes))
    if hold or len(together.reports) < 2 * LEAST:
        return together, Pool()
    lot = SystemRandom()
    keys = set(lot.sample(sorted(together.reports), LEAST))
    passes_left = frozenset(lot.sample(sorted(together.passes), LEAST))
    leaves = {key: body for key, body in together.reports.items() if key not in keys}
    return Pool({key: together.reports[key] for key in keys}, passes_left), Pool(leaves, together.passes - passes_left)
