"""Two attacks on an open collection: an attacker who reads it once wants to know which report came with which token.

Both attackers know all tokens (by their SHA-256) and all reports (by their keys), and look only for links between them.
They do not know the schema: a token or a report is found wherever its bytes or their hexadecimal digits occur.
"""

import sqlite3
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg

Marks = dict[str, set[str]]
"""Transactions that a token or a report, in hexadecimal digits, is marked with."""


class Reader:
    """A role with SELECT privileges only, which looks before the first report arrives, and again at the end.

    The first look is a transaction that stays open: it still contains rows that were deleted since, and shows which
    transaction deleted them.
    """

    def __init__(self, url: str, schema: str) -> None:
        self._first = psycopg.connect(url)
        self._first.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self._again = psycopg.connect(url, autocommit=True)
        query = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
        self._tables = [f"{schema}.{name}" for (name,) in self._first.execute(query, [schema])]

    def marks(self, wanted: Sequence[bytes]) -> Marks:
        """Return, for each value, all xmin and xmax of the rows that contain it."""
        found: Marks = defaultdict(set)
        for connection in (self._first, self._again):
            for table in self._tables:
                for text, *marks in connection.execute(
                    f"SELECT t::text, xmin::text, xmax::text FROM {table} t"  # noqa: S608
                ):
                    for one in wanted:
                        if one.hex() in text:
                            found[one.hex()] |= set(marks) - {"0"}
        return found

    def close(self) -> None:
        self._first.close()
        self._again.close()


def by_marks(reader: Reader, tokens: Sequence[bytes], keys: Sequence[bytes]) -> list[set[str]]:
    """Return, for each token, the smallest set of reports that share a mark with it, or all of them if none does."""
    mine, theirs = reader.marks(tokens), reader.marks(keys)
    marked: dict[str, set[str]] = defaultdict(set)
    for key, marks in theirs.items():
        for mark in marks:
            marked[mark].add(key)
    everybody = {key.hex() for key in keys}
    return [
        min((marked[mark] for mark in mine[token.hex()] if marked[mark]), key=len, default=everybody)
        for token in tokens
    ]


def by_order(reader: Reader, tokens: Sequence[bytes], keys: Sequence[bytes]) -> list[set[str]]:
    """Match the first spent token with the first report, and so on, by the last transaction that changed them."""
    mine, theirs = reader.marks(tokens), reader.marks(keys)
    first = sorted(tokens, key=lambda token: (max(map(int, mine[token.hex()])), token))
    came = sorted(keys, key=lambda key: (max(map(int, theirs[key.hex()])), key))
    guess = {token: {key.hex()} for token, key in zip(first, came, strict=True)}
    return [guess[token] for token in tokens]


def by_log(path: Path, tokens: Sequence[bytes], keys: Sequence[bytes], scratch: Path) -> list[set[str]]:
    """Return, for each token, the reports that were new in the commit in which its row changed, or all reports if no
    commit shows this.
    """
    everybody = {key.hex() for key in keys}
    guesses = {token.hex(): everybody for token in tokens}
    before: tuple[Mapping[str, Any], set[str]] | None = None
    for state in _states(path, scratch):
        places = _places(state, [*tokens, *keys])
        there = {key for key in everybody if places.get(key)}
        if before is not None:
            fresh = there - before[1]
            for token in guesses:
                if fresh and places.get(token) != before[0].get(token) and len(fresh) < len(guesses[token]):
                    guesses[token] = fresh
        before = places, there
    return [guesses[token.hex()] for token in tokens]


def _states(path: Path, scratch: Path) -> Iterable[list[str]]:
    """Return the database after each commit of its log, oldest first, as dumps."""
    content, log = path.read_bytes(), path.with_name(f"{path.name}-wal")
    frames = log.read_bytes() if log.exists() else b""
    for end in [0, *_commits(frames)]:
        copy = scratch / f"state{end}.db"
        copy.write_bytes(content)
        copy.with_name(f"{copy.name}-wal").write_bytes(frames[:end])
        with closing(sqlite3.connect(copy)) as database:
            yield list(database.iterdump())


def _commits(log: bytes) -> list[int]:
    """Return the positions at which the commits of a log end: a frame of 24 bytes and a page, whose second number is
    not zero, with the salt of this log.
    """
    if len(log) < 32:
        return []
    size, salt = struct.unpack(">I", log[8:12])[0], log[16:24]
    ends = []
    for start in range(32, len(log) - 24 - size + 1, 24 + size):
        if log[start + 8 : start + 16] != salt:
            break
        if log[start + 4 : start + 8] != bytes(4):
            ends.append(start + 24 + size)
    return ends


def _places(dump: list[str], wanted: Sequence[bytes]) -> dict[str, frozenset[str]]:
    """Return the tables that contain each of the values."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in dump:
        table, lower = line.split("VALUES")[0], line.lower()
        for one in wanted:
            if one.hex() in lower:
                found[one.hex()].add(table)
    return {one: frozenset(tables) for one, tables in found.items()}


def by_place(path: Path, tokens: Sequence[bytes], keys: Sequence[bytes], scratch: Path) -> list[set[str]]:
    """Return, for each token, the reports in the same state: both in the pool, or both out of it."""
    *_, last = _states(path, scratch)
    places = _places(last, [*tokens, *keys])
    pooled = {one for one, tables in places.items() if any("pool" in table for table in tables)}
    everybody = {key.hex() for key in keys}
    return [everybody & pooled if token.hex() in pooled else everybody - pooled for token in tokens]


@dataclass(frozen=True)
class Wave:
    """The information from one reading of an open wave: the used tokens, each with the keys of its possible reports,
    and the number of the phone behind every key.
    """

    guesses: Mapping[bytes, set[str]]
    phones: Mapping[str, str]


def over_waves(waves: Sequence[Wave], tokens: Sequence[bytes]) -> list[set[str]]:
    """Return, for each token, the phones that most likely belong to it: they answered the same waves and, as far as
    marks show, in the same groups.

    Half of the time a report leaves the pool with its token, so a report of the token's group is more likely than one
    of the others, by a factor that depends on the size of the group.
    """
    phones = {phone for wave in waves for phone in wave.phones.values()}
    found = []
    for token in tokens:
        likely = {phone: _likelihood(waves, token, phone) for phone in phones}
        best = max(likely.values())
        found.append({phone for phone, one in likely.items() if best and one >= best * (1 - 1e-9)})
    return found


def _likelihood(waves: Sequence[Wave], token: bytes, phone: str) -> float:
    found = 1.0
    for wave in waves:
        keys = {key for key, one in wave.phones.items() if one == phone}
        if bool(keys) != (token in wave.guesses):
            return 0.0
        if keys:
            group, others = wave.guesses[token], len(wave.phones) - len(wave.guesses[token])
            found *= 1 / max(len(group), 1) if keys & group else 1 / max(others, 1)
    return found


def linked(guesses: Sequence[set[str]], keys: Sequence[bytes]) -> tuple[int, Fraction]:
    """Return how many tokens are linked to their own report only, and how many a guess would get right on average."""
    right = [key.hex() in guess for key, guess in zip(keys, guesses, strict=True)]
    sure = sum(hit and len(guess) == 1 for hit, guess in zip(right, guesses, strict=True))
    return sure, sum((Fraction(1, len(guess)) for hit, guess in zip(right, guesses, strict=True) if hit), Fraction(0))
