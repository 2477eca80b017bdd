"""Surveys on disk: TOML for people, JSON for programs, told apart by the file's suffix; and the fields that they must
not have, with the reason why some that other tools offer are not offered here.
"""

import json
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.extras import extra
from toolkit.survey.questions.errors import refuse_field
from toolkit.survey.questions.strict_json import loads

_ORDER = (
    "such rules are not offered, since an order that depends on answers tells them; questions come as they are listed"
)
_QUOTA = "such rules are not offered, since being turned away would tell an answer; `cap` limits the number of reports"
_SKIP = (
    "the only such rule is `show_if`, which depends on plain questions alone: any other would tell a randomized answer"
)
_TIME = "such rules are not offered, since how long an answer takes tells something about it"
_BESIDE = (
    "an answer beside the options would not be hidden: make it one of the design's (a plain question "
    "may be required = false)"
)
_CHOSEN = "nothing is chosen beforehand, since leaving it so would look like an answer"
_AGAIN = "an answer is drawn once and sent once: drawing again would wear the protection off"
_WHO = "nothing about the respondent is kept but the reports"

_WHY = {
    _ORDER: "order order_by random_order randomize_order randomise_order rotate shuffle",
    _QUOTA: "quota quotas screen_out screenout strata",
    _SKIP: "branch filter goto hide_if jump logic relevance relevant skip skip_if skip_to visible_if",
    _TIME: "record_time time_limit timer timestamps timing",
    _BESIDE: "allow_other allow_skip dont_know no_answer optional other prefer_not_to_say",
    _CHOSEN: "default initial preselected",
    _AGAIN: "edit_after_send repeat reroll retry",
    _WHO: "cookies email geolocation ip metadata paradata tracking user_agent",
}


def refuse_unknown(fields: Mapping[str, Any], allowed: Collection[str], what: str) -> None:
    """Refuse a field that is not one of the known ones, with the reason if other tools have it."""
    for field in fields:
        if field not in allowed:
            spelled = str(field).lower().replace("-", "_")
            why = next((reason for reason, names in _WHY.items() if spelled in names.split()), None)
            rule = f"{what} has the fields {', '.join(allowed)}"
            refuse_field(str(field), rule, repr(field)[:60], why or "check its spelling")


_MOST_DIGITS = 4000  # a fraction of a fine budget has long parts
_MOST_BYTES = 2_000_000  # a thousand questions in several languages
_MOST_PARTS = 20  # of a key such as a.b.c: the time to read one grows with their square
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')


def read(path: str | Path) -> Any:
    file = Path(path)
    suffix = _suffix(file)
    if not file.is_file():
        near = ", ".join(sorted(neighbor.name for neighbor in file.absolute().parent.glob("*.toml"))[:5])
        rule = "a survey's file must be there"
        why = f"surveys there are: {near}" if near else "`toolkit new survey.toml` writes one to start from"
        reject(rule, f"no file {file.name!r} in {str(file.parent)!r}", why, FileNotFoundError)
    with file.open("rb") as stream:
        raw = stream.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        reject(f"a survey's file must have at most {_MOST_BYTES:,} bytes", "more", "nobody answers as much")
    if suffix == ".json":
        return loads(raw, digits=_MOST_DIGITS)
    text = raw.decode("utf-8")
    if any(key.count(".") >= _MOST_PARTS for key in map(_key, text.splitlines())):
        reject(f"a key must have at most {_MOST_PARTS} parts", "more", "no field of a survey has as many")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python reads no number of so many digits
        reject("a number must have a few thousand digits at most", "more", "nothing here needs them")


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
        reject("a survey's file must end in .toml or .json", repr(file.suffix), "the suffix says how it is written")
    return file.suffix.lower()
