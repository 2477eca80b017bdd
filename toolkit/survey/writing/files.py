"""Surveys on disk: TOML for people, JSON for programs, told apart by the file's suffix."""

import json
import tomllib
from pathlib import Path
from typing import Any

from toolkit.core.checks import refuse
from toolkit.core.extras import extra
from toolkit.survey.writing.strict_json import loads

_MOST_DIGITS = 4000  # a fraction of a fine budget has long parts


def read(path: str | Path) -> Any:
    """The plain data in a file."""
    file = Path(path)
    suffix = _suffix(file)
    if not file.is_file():
        near = ", ".join(sorted(one.name for one in file.absolute().parent.glob("*.toml"))[:5])
        refuse(
            "a survey's file must be there",
            f"no file {file.name!r} in {str(file.parent)!r}",
            f"surveys there are: {near}" if near else "`toolkit new survey.toml` writes one to start from",
            FileNotFoundError,
        )
    raw = file.read_bytes()
    if suffix == ".json":
        return loads(raw, digits=_MOST_DIGITS)
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write(path: str | Path, data: dict[str, Any]) -> None:
    """Plain data into a file."""
    file = Path(path)
    text = _toml(data) if _suffix(file) == ".toml" else f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"
    file.write_text(text, encoding="utf-8")


def _toml(data: dict[str, Any]) -> str:
    text: str = extra("tomli_w").dumps(data)
    return text


def _suffix(file: Path) -> str:
    if file.suffix.lower() not in (".toml", ".json"):
        refuse(
            "a survey's file must end in .toml or .json",
            repr(file.suffix),
            "the suffix says how it is written",
        )
    return file.suffix.lower()
