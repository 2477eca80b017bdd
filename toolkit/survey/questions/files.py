"""Survey files in TOML and JSON, and explanations for fields that exist only in other tools."""

import json
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.extras import extra
from toolkit.survey.questions.errors import reject_field
from toolkit.survey.questions.strict_json import loads

_ORDER = (
    "there are no such rules, since an order that depends on answers reveals them; questions keep the order of the file"
)
_QUOTA = "there are no such rules, since being turned away would reveal an answer; `cap` limits the number of reports"
_SKIP = (
    "the only such rule is `show_if`, which depends on plain questions only: others would reveal a randomized answer"
)
_TIME = "there are no such rules, since the time that an answer takes reveals something about it"
_OTHER = (
    "an answer outside of the options would not be protected: make it an option of the design (a plain question "
    "may have required = false)"
)
_DEFAULT = "nothing is selected in advance, since leaving it unchanged would look like an answer"
_REPEAT = "an answer is randomized once and sent once: repeating it would weaken the protection"
_PERSON = "nothing about the respondent is stored except the reports"

_REASONS_BY_FIELDS = {
    _ORDER: "order order_by random_order randomize_order randomise_order rotate shuffle",
    _QUOTA: "quota quotas screen_out screenout strata",
    _SKIP: "branch filter goto hide_if jump logic relevance relevant skip skip_if skip_to visible_if",
    _TIME: "record_time time_limit timer timestamps timing",
    _OTHER: "allow_other allow_skip dont_know no_answer optional other prefer_not_to_say",
    _DEFAULT: "default initial preselected",
    _REPEAT: "edit_after_send repeat reroll retry",
    _PERSON: "cookies email geolocation ip metadata paradata tracking user_agent",
}


def reject_unknown(data: Mapping[str, Any], allowed: Collection[str], owner: str) -> None:
    """Reject unknown fields; explain the absence of a field that other tools have."""
    for field in data:
        if field not in allowed:
            normalized = str(field).lower().replace("-", "_")
            why = next((reason for reason, names in _REASONS_BY_FIELDS.items() if normalized in names.split()), None)
            rule = f"{owner} has the fields {', '.join(allowed)}"
            reject_field(str(field), rule, repr(field)[:60], why or "check its spelling")


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
