"""The bar appears for long work only, and nothing depends on it."""

import sys
import types
from collections.abc import Iterable, Iterator

import pytest

from toolkit.core.extras import chunks


def _with_bars(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    seen: list[dict[str, object]] = []

    def tqdm(items: Iterable[int], **options: object) -> Iterator[int]:
        seen.append(options)
        return iter(items)

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    fake = types.ModuleType("tqdm.auto")
    fake.tqdm = tqdm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm.auto", fake)
    return seen


def test_short_work_has_no_bar_and_long_work_has_a_delayed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bars = _with_bars(monkeypatch)
    assert len(list(chunks(630, 10, "counting"))) == 63
    assert bars == []
    assert len(list(chunks(631, 10, "counting"))) == 64
    assert bars == [{"desc": "counting", "unit": " pieces", "delay": 1, "leave": False}]


def test_without_tqdm_the_work_is_done_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    covered = [i for part in chunks(1003, 10, "counting") for i in range(*part.indices(1003))]
    assert covered == list(range(1003))
