"""Hash the answers of the exercises: `make answers` writes the hashes that `toolkit.teaching.check` compares."""

import json
import tomllib
from pathlib import Path
from typing import Any

from toolkit.teaching.checking import HINT_DIGITS, normalize_word, parse_number, round_to_digits, seal

ROOT = Path(__file__).parents[1]
KEY = ROOT / "notebooks" / "teaching" / "answers.toml"
SEALED = ROOT / "toolkit" / "teaching" / "static" / "answers.json"


def sealed() -> str:
    """Return the hashed answers as JSON."""
    key = tomllib.loads(KEY.read_text(encoding="utf-8"))
    parts = {
        name: [_part(name, index, part) for index, part in enumerate(entry["parts"])] for name, entry in key.items()
    }
    return json.dumps(parts, indent=1, ensure_ascii=False) + "\n"


def _part(exercise: str, index: int, part: dict[str, Any]) -> dict[str, Any]:
    digits, right = part.get("digits"), part["right"]
    accepted = right if isinstance(right, list) else [right]
    hashed: dict[str, Any] = {"right": [seal(exercise, index, _plain(answer, digits)) for answer in accepted]}
    if digits is not None:
        hashed["digits"] = digits
    hashed["slips"] = part.get("slips", [])
    hashed["hints"] = {
        seal(exercise, index, _plain(answer, HINT_DIGITS if digits == 0 else digits)): hint
        for answer, hint in part.get("wrong", [])
    }
    return hashed


def _plain(answer: object, digits: int | None) -> str:
    if digits is None:
        return normalize_word(answer)
    value = parse_number(answer)
    assert value is not None, f"{answer} must be a number"
    return round_to_digits(value, digits)


if __name__ == "__main__":
    SEALED.write_text(sealed(), encoding="utf-8")
