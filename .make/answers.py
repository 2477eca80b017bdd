"""Seal the key of the exercises: `make answers` writes the hashes that `toolkit.teaching.check` compares
with.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from toolkit.teaching.checking import HINTED, number, rounded, seal, word

ROOT = Path(__file__).parents[1]
KEY = ROOT / "notebooks" / "teaching" / "answers.toml"
SEALED = ROOT / "toolkit" / "teaching" / "static" / "answers.json"


def sealed() -> str:
    """The key as a file of hashes."""
    key = tomllib.loads(KEY.read_text(encoding="utf-8"))
    parts = {
        name: [_part(name, place, part) for place, part in enumerate(entry["parts"])] for name, entry in key.items()
    }
    return json.dumps(parts, indent=1, ensure_ascii=False) + "\n"


def _part(exercise: str, place: int, part: dict[str, Any]) -> dict[str, Any]:
    digits, right = part.get("digits"), part["right"]
    accepted = right if isinstance(right, list) else [right]
    told: dict[str, Any] = {"right": [seal(exercise, place, _plain(one, digits)) for one in accepted]}
    if digits is not None:
        told["digits"] = digits
    told["slips"] = part.get("slips", [])
    told["hints"] = {
        seal(exercise, place, _plain(one, HINTED if digits == 0 else digits)): said
        for one, said in part.get("wrong", [])
    }
    return told


def _plain(answer: object, digits: int | None) -> str:
    if digits is None:
        return word(answer)
    value = number(answer)
    assert value is not None, f"{answer} must be a number"
    return rounded(value, digits)


if __name__ == "__main__":
    SEALED.write_text(sealed(), encoding="utf-8")
