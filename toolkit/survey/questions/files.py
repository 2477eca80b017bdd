"""Survey files in TOML and JSON."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.extras import extra
from toolkit.survey.questions.strict_json import loads

_MOST_DIGITS = 4000  # exact fractions may have long numerators and denominators
_MOST_BYTES = 2_000_000  # enough for a thousand questions in several languages
_MOST_PARTS = 20  # parts of a key such as a.b.c; parsing time is quadratic in their number
_QUOTED_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')


def read(path: str | Path) -> Any:
    """Return the data in a survey file."""
    file = Path(path)
    suffix = _suffix(file)
    if not file.is_file():
        neighbors = ", ".join(sorted(neighbor.name for neighbor in file.absolute().parent.glob("*.toml"))[:5])
        rule = "a survey's file must exist"
        why = f"this folder has {neighbors}" if neighbors else "`toolkit new survey.toml` writes one to start from"
        reject(rule, f"no file {file.name!r} in {str(file.parent)!r}", why, FileNotFoundError)
    with file.open("rb") as stream:
        raw = stream.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        reject(f"a survey's file must have at most {_MOST_BYTES:,} bytes", "more", "nobody would answer so much")
    if suffix == ".json":
        return loads(raw, max_digits=_MOST_DIGITS)
    text = raw.decode("utf-8")
    if any(key.count(".") >= _MOST_PARTS for key in map(_key, text.splitlines())):
        reject(f"a key must have at most {_MOST_PARTS} parts", "more", "no field of a survey has so many")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python limits the number of digits of an integer
        reject("a number must have a few thousand digits at most", "more", "no field of a survey needs them")


def _key(line: str) -> str:
    """Return the part of a line that may be a key, without quoted text: a heading, or everything before the first =."""
    key, equals, _ = _QUOTED_TEXT.sub("", line).partition("=")
    return key if equals or key.lstrip().startswith("[") else ""


def write(path: str | Path, data: dict[str, Any]) -> None:
    """Write data to a survey file, in the format of its suffix."""
    file = Path(path)
    if _suffix(file) == ".toml":
        text: str = extra("tomli_w").dumps(data)
    else:
        text = f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"
    file.write_text(text, encoding="utf-8")


def _suffix(file: Path) -> str:
    if file.suffix.lower() not in (".toml", ".json"):
        reject("a survey's file must end in .toml or .json", repr(file.suffix), "the suffix determines the format")
    return file.suffix.lower()
