"""A pool that prevents a person who reads an open database once from linking reports to tokens.

A report and the token that it spends must be written in one transaction, and databases mark rows that were written
together: PostgreSQL stores the number of the transaction in every row, and SQLite stores the pages of a commit one
after the other in its log. Therefore both first enter a pool, which is one value in one row. It holds the latest
reports, sorted by their random keys, and the token hashes of the same people, sorted as well. The pool is rewritten
with every batch. When it holds `2 * MIN_POOL` people or more, all but `MIN_POOL` randomly drawn reports move to the
table of reports, and the same number of independently drawn token hashes move to the table of spent tokens.

A single snapshot of the database reveals little, because the two draws are independent and nothing else distinguishes
people. Suppose n people were in the pool when a token hash left it, with n >= 20. The probability that the token
belongs to a given report is at most 1 / n if that report left at the same time, and at most 1 / 20 otherwise. For a
token in the pool, this probability is at most 1 / (number of people in the pool), and the pool holds at least 10 people
once 10 have answered. The bounds hold even if the order in which people answered is known, as long as nothing reveals
the order of the reports; the settings named "shown…" of an open collection do distinguish earlier reports from later
ones. A second snapshot reveals who was added in between. No order of rows protects against somebody who watches all the
time; only blind access does.

In a survey with several waves, somebody who reads the database once per wave obtains several snapshots. An identifier
links the reports of each phone, so the candidates could be narrowed down to the people who were in the pool every time.
In such surveys, nothing leaves the pool before the collection is closed. All reports so far are stored next to all
token hashes so far, and a person who reads each wave once learns only who had taken part in which waves by then.
`unique_patterns` in `consent/statement.py` computes how many people can be identified in this way. The cost is that the
whole pool is rewritten with every batch, in time that grows with the number of people in it.

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
"""Number of people who stay in the pool; the others leave when it contains twice this number."""


@dataclass(frozen=True, repr=False)
class Pool:
    """Reports by key and the token hashes of the same people; nothing connects a report with a token."""

    reports: Mapping[bytes, str] = field(default_factory=dict)
    token_hashes: frozenset[bytes] = frozenset()

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
        """Encode the pool, with keys and hashes sorted; an empty pool becomes an empty string."""
        if not self.reports:
            return ""
        reports = {key.hex(): self.reports[key] for key in sorted(self.reports)}
        hashes = [value.hex() for value in sorted(self.token_hashes)]
        return json.dumps({"reports": reports, "passes": hashes}, ensure_ascii=False, separators=(",", ":"))


def mix(
    pool: Pool, reports: Mapping[bytes, str], token_hashes: Collection[bytes], *, keep_all: bool = False
) -> tuple[Pool, Pool]:
    """Return the pool after these people have joined it, and the entries that leave; with `keep_all` none leave."""
    joined = Pool({**pool.reports, **reports}, pool.token_hashes | frozenset(token_hashes))
    if keep_all or len(joined.reports) < 2 * MIN_POOL:
        return joined, Pool()
    rng = SystemRandom()
    remaining_keys = set(rng.sample(sorted(joined.reports), MIN_POOL))
    remaining_hashes = frozenset(rng.sample(sorted(joined.token_hashes), MIN_POOL))
    leaving = {key: body for key, body in joined.reports.items() if key not in remaining_keys}
    return Pool({key: joined.reports[key] for key in remaining_keys}, remaining_hashes), Pool(
        leaving, joined.token_hashes - remaining_hashes
    )
