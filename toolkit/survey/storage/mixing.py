"""A pool that hides which report came with which token from a person who reads an open database once.

A report and the pass that it spends must be written in one transaction, and databases mark what was written
together: PostgreSQL by the number of the transaction in every row, SQLite by the pages of a commit in its log. So both
go first into a pool, which is one value of one row: the latest reports in the order of their random keys, and the
passes of the same people in the order of their hashes. The pool is rewritten with every batch. When it has twice
`MIN_POOL` people or more, all but `MIN_POOL` randomly drawn reports move to the table of reports, and as many passes,
drawn independently, to the table of spent ones.

What a single reading reveals: the two draws are independent, and nothing else distinguishes people. If n people were in
the pool when a pass left it, the pass belongs to any given report that left with it with probability at most 1 / n,
n >= 20, and to any other report with probability at most 1 / 20. A pass in the pool belongs to any given report with
probability at most 1 / (people in the pool), and these are at least 10 as soon as 10 have answered. The bounds hold
even if the order in which people came is known, as long as nothing reveals the order of the reports; the settings
named "shown…" of an open collection distinguish earlier reports from later ones. A second reading reveals who was new
between the two. No order of rows helps against somebody who watches all the time; blind access does.

In a survey of several waves, a person who reads each wave's database once has read several times: a number joins the
reports of one phone, and only those who were in the group each time remain. There nothing leaves the pool before the
collection is closed. All reports so far are stored beside all passes so far, and a person who reads each wave once
learns who had taken part in which waves by then, and nothing else that connects a pass with a report; `patterns` of
`consent/statement.py` computes how many people that identifies. Its price is that the whole pool is rewritten with
every batch, in time that grows with the number of people in it.

References
----------
Serjantov, Dingledine, Syverson (2002). From a Trickle to a Flood: Active Attacks on Several Mix Types. (Pool
mixes.)
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from random import SystemRandom

MIN_POOL = 10
"""People who stay in the pool; some leave when it has twice as many."""


@dataclass(frozen=True, repr=False)
class Pool:
    """Reports by key, and passes, of the same people; nothing in it connects a report with a pass."""

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
        """Encode the pool, in the order of keys and hashes; an empty pool is an empty text."""
        if not self.reports:
            return ""
        reports = {key.hex(): self.reports[key] for key in sorted(self.reports)}
        passes = [value.hex() for value in sorted(self.passes)]
        return json.dumps({"reports": reports, "passes": passes}, ensure_ascii=False, separators=(",", ":"))


def mix(
    pool: Pool, reports: Mapping[bytes, str], passes: Collection[bytes], *, hold: bool = False
) -> tuple[Pool, Pool]:
    """Return the pool after these people have joined it, and what leaves it: nothing with `hold`."""
    joined = Pool({**pool.reports, **reports}, pool.passes | frozenset(passes))
    if hold or len(joined.reports) < 2 * MIN_POOL:
        return joined, Pool()
    rng = SystemRandom()
    keys = set(rng.sample(sorted(joined.reports), MIN_POOL))
    passes_left = frozenset(rng.sample(sorted(joined.passes), MIN_POOL))
    leaving = {key: body for key, body in joined.reports.items() if key not in keys}
    return Pool({key: joined.reports[key] for key in keys}, passes_left), Pool(leaving, joined.passes - passes_left)
