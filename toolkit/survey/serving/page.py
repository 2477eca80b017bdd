"""The page that respondents see: one HTML file with the survey embedded as data, and no inline scripts.

The survey is embedded as JSON in which no character can end the block, and the scripts insert every text as text
rather than markup. The headers of the page are in `response.py`. `FormPreview` is the same page with its scripts
inlined, so that it works without a server, in a frame that cannot open connections. Its headings state that it is a
preview.
"""

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.survey import client
from toolkit.survey.consent.page_data import page_words, shown_survey
from toolkit.survey.questions.survey_fields import question_units
from toolkit.survey.serving import items
from toolkit.survey.serving.access import page_hash
from toolkit.survey.serving.blind import Issuer
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.payload import padded_length
from toolkit.survey.serving.station import station_padded_length
from toolkit.survey.spec import Survey, station_version
from toolkit.texts.phrases import HEADINGS, Own, phrases

HEADING_PREFIX = "head_"
"""Prefix of the names of headings of final screens."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")
# The page preloads the modules that it always needs; modules for blind tokens and stations are loaded on demand.
_LAZY_MODULES = ("form.js", "blind.js", "signing.js", "station.js", "worker.js")
_MODULES = "\n".join(
    f'<link rel="modulepreload" href="{name}">'
    for name in client.FILE_NAMES
    if name.endswith(".js") and name not in _LAZY_MODULES
)
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render_page(
    survey: Survey,
    issuer: Issuer | None = None,
    earlier_hashes: Sequence[str] = (),
    station_public_key: str | None = None,
) -> bytes:
    """Render the HTML page of a survey.

    `issuer` and `station_public_key` are the public keys for blind tokens and stations; `earlier_hashes` are the hashes
    of earlier editions.
    """
    data = page_content(survey, issuer, earlier_hashes, station_public_key)
    first = survey.languages[0]
    words = data["words"][first]
    slots = {
        "language": html.escape(first),
        "direction": words["direction"],
        "title": html.escape(data["title"][first]),
        "modules": _MODULES,
        "style": client.asset("style.css").decode(),
        **{name: html.escape(words[name]) for name in ("moment", "loading", "cut")},
        "data": script_json(data),
    }
    template = client.asset("form.html").decode()
    return _SLOT.sub(lambda slot: slots[slot.group(1)], template).encode()


def page_content(
    survey: Survey,
    issuer: Issuer | None = None,
    earlier_hashes: Sequence[str] = (),
    station_public_key: str | None = None,
) -> dict[str, Any]:
    """Build the data for the scripts, in which the practice question and the check are items like the questions."""
    version = survey if station_public_key is None else station_version(survey)
    data, words = shown_survey(version), page_words(version)
    practice, check = data.pop("practice"), data.pop("check")
    data["intro"] = [items.practice_item(question, words, index) for index, question in enumerate(practice)]
    data["intro"] += items.check_items(version, words) if check else []
    data["questions"] = items.question_items(data["questions"], words, data["intro"], data.get("random_order", ()))
    data |= {
        "verify": items.verification_steps([*data["intro"], *data["questions"]]),
        "words": {
            code: {**_with_endings(texts, data["title"][code]), **_number_format(code, survey.words)}
            for code, texts in words.items()
        },
        "code": client.code_hash(),
        "consent": {
            code: _with_odds(layers, data["questions"], code, words) for code, layers in data["consent"].items()
        },
    }
    pages = [page_hash(edition, issuer) for edition in (survey.hash, *earlier_hashes)]
    full = min(padded_length(survey, 0 if issuer is None else issuer.n_bytes), Limits.body_bytes)
    data["units"], data["mixed"] = question_units(survey.questions, survey.random_order)
    data |= {"hash": pages[0], "pages": pages, "length": full}
    if station_public_key is not None and survey.field is not None:
        settings = {
            "kind": survey.field["station"],
            "key": station_public_key,
            "length": station_padded_length(survey),
            "files": client.FILE_NAMES,
        }
        data |= {"station": settings, "verify": ["station_verify"]}
    return data if issuer is None else {**data, "issuer": issuer.to_dict()}


def _with_endings(words: Mapping[str, str], title: str) -> dict[str, str]:
    """Return the texts of a language together with a heading and a sentence for every final screen."""
    files = ", ".join(client.FILE_NAMES)
    texts = {**words, **{f"end_{status}": words["end_400"] for status in (413, 415)}}
    texts["verify_5"] = texts["verify_5"].replace("{files}", files)
    heads = {name: words["no_report"] for name in texts if name.startswith("end_")}
    heads |= {"end_201": words["thanks"], "end_already": words["thanks"], "end_link": title, "end_declined": title}
    return {**texts, **{name.replace("end_", HEADING_PREFIX, 1): text for name, text in heads.items()}}


def _number_format(language: str, wording: Own | None) -> dict[str, str | int]:
    """Return the number format of a language, the same as in the privacy statement."""
    texts = phrases(language, wording)
    return {name: texts[name] for name in ("decimal", "thousands")} | {"grouped_from": int(texts["grouped_from"])}


def _with_odds(
    layers: list[dict[str, Any]], questions: Sequence[items.Item], language: str, words: items.Words
) -> list[dict[str, Any]]:
    """Add the odds of all questions to the layer of the consent text that describes what can be learned."""
    sentences = [text[language] for text in items.odds_by_question(questions)]
    odds = [words[language]["odds_each"], *sentences] if sentences else []
    return [{**layer, "more": [*layer["more"], *odds]} if layer["name"] == "learn" else layer for layer in layers]


def script_json(data: object) -> str:
    """Serialize data as JSON that is safe between script tags."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
_DATA = re.compile(r'(<script type="application/json" id="survey">)(.*?)(</script>)', re.DOTALL)
_IMPORT = re.compile(r'"\./(\w+\.js)"')
_PREVIEW = "PREVIEW"
_UNSENT = "This is a preview: nothing was sent."
_PRELOAD = re.compile(r'<link rel="modulepreload"[^>]*>\n')
# A sandboxed frame cannot change the browser's history, and going back must not leave the surrounding notebook.
_HISTORY = """
const past = ["consent"];
history.pushState = (state) => past.push(state);
history.replaceState = (state) => (past[past.length - 1] = state);
history.back = () => past.length > 1 && past.pop() && dispatchEvent(new PopStateEvent("popstate", { state: past.at(-1) }));
"""  # noqa: E501


@dataclass(frozen=True, repr=False)
class FormPreview:
    """A preview of a survey's form for notebooks; it never sends anything."""

    survey: Survey

    @property
    def html(self) -> str:
        """The preview as one self-contained HTML page."""
        form = render_page(self.survey).decode()
        form = _DATA.sub(lambda part: part[1] + script_json(_mark_preview(json.loads(part[2]))) + part[3], form)
        policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        form = form.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}')
        return _PRELOAD.sub("", form).replace('<script type="module" src="form.js"></script>', _preview_scripts())

    def save(self, path: str | Path) -> Path:
        """Write the preview to an .html file and return its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"<Preview of {self.survey.name!r}: its form, which sends nothing>"

    def _repr_html_(self) -> str:
        shape = "width:390px;height:720px;max-width:100%;border:1px solid #767676;border-radius:12px"
        title = html.escape(f"Preview of {self.survey.name}", quote=True)
        return (
            f'<iframe title="{title}" sandbox="allow-scripts" style="{shape}" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )


def _mark_preview(data: dict[str, Any]) -> dict[str, Any]:
    """Mark the headings and messages of the page as a preview, and remove the need for a personal link."""
    words = {
        code: {
            **texts,
            **{
                name: f"{_PREVIEW}: {text}"
                for name, text in texts.items()
                if name in HEADINGS or name.startswith(HEADING_PREFIX)
            },
            **dict.fromkeys(("sending", "waiting", "waiting_here", "keeps_nothing"), _UNSENT),
        }
        for code, texts in data["words"].items()
    }
    title = {code: f"{_PREVIEW}: {words}" for code, words in data["title"].items()}
    return {**data, "access": "open", "title": title, "words": words}


def _preview_scripts() -> str:
    """Return an import map with the page's modules as data URLs, and a script that starts the page."""
    scripts = [name for name in client.FILE_NAMES if name.endswith(".js")]
    imports = {}
    for name in scripts:
        code = _IMPORT.sub(r'"preview/\1"', client.asset(name).decode()).encode()
        imports[f"preview/{name}"] = f"data:text/javascript;base64,{base64.b64encode(code).decode()}"
    return (
        f'<script type="importmap">{json.dumps({"imports": imports})}</script>\n<script>{_HISTORY}</script>\n'
        f'<script type="module">import "preview/form.js";</script>'
    )
