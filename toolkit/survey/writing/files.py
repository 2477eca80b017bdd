"""Surveys on disk: TOML for people, JSON for programs, told apart by the file's suffix."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from toolkit.core.checks import refuse
from toolkit.core.extras import extra
from toolkit.survey.writing.strict_json import loads

_MOST_DIGITS = 4000  # a fraction of a fine budget has long parts
_MOST_BYTES = 2_000_000  # a thousand questions in several languages
_MOST_PARTS = 20  # of a key such as a.b.c: the time to read one grows with their square
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')


def read(path: str | Path) -> Any:
    file = Path(path)
    suffix = _suffix(file)
    if not file.is_file():
        near = ", ".join(sorted(one.name for one in file.absolute().parent.glob("*.toml"))[:5])
        rule = "a survey's file must be there"
        why = f"surveys there are: {near}" if near else "`toolkit new survey.toml` writes one to start from"
        refuse(rule, f"no file {file.name!r} in {str(file.parent)!r}", why, FileNotFoundError)
    with file.open("rb") as stream:
        raw = stream.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        refuse(f"a survey's file must have at most {_MOST_BYTES:,} bytes", "more", "nobody answers as much")
    if suffix == ".json":
        return loads(raw, digits=_MOST_DIGITS)
    text = raw.decode("utf-8")
    if any(key.count(".") >= _MOST_PARTS for key in map(_key, text.splitlines())):
        refuse(f"a key must have at most {_MOST_PARTS} parts", "more", "no field of a survey has as many")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python reads no number of so many digits
        refuse("a number must have a few thousand digits at most", "more", "nothing here needs them")


def _key(line: str) -> str:
    """What may be a key in a line, without what is in quotes: all before the first =, or a heading."""
    key, equals, _ = _QUOTED.sub("", line).partition("=")
    return key if equals or key.lstrip().startswith("[") else ""


def write(path: str | Path, data: dict[str, Any]) -> None:
    file = Path(path)
    if _suffix(file) == ".toml":
        text: str = extra("tomli_w").dumps(data)
    else:
        text = f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"
    file.write_text(text, encoding="utf-8")


def _suffix(file: Path) -> str:
    if file.suffix.lower() not in (".toml", ".json"):
        refuse("a survey's file must end in .toml or .json", repr(file.suffix), "the suffix says how it is written")
    return file.suffix.lower()
