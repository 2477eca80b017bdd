"""The page that respondents see: one HTML file with the survey in it as data, and no program of its own.

The survey stands in a block of JSON, in which no character can end the block; the scripts beside it put every
text on the screen as text. The headers that go with it are in `answer`. `FormPreview` is the page itself, with its own
program, without a server: in a frame that may not open a connection, and every heading says what it is.
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
from toolkit.survey.serving import items
from toolkit.survey.serving.access import page_hash
from toolkit.survey.serving.blind import Issuer
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.payload import padded_length
from toolkit.survey.serving.station import sealed_length
from toolkit.survey.spec import Survey, at_station
from toolkit.texts.phrases import HEADINGS, Own, phrases

HEADING_PREFIX = "head_"
"""How the names of words begin that head a last screen."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")
# All that the page needs at once is asked for at once; what signs tokens, or makes a station, when it is needed.
_LAZY_MODULES = ("form.js", "blind.js", "signing.js", "station.js", "worker.js")
_MODULES = "\n".join(
    f'<link rel="modulepreload" href="{name}">'
    for name in client.NAMES
    if name.endswith(".js") and name not in _LAZY_MODULES
)
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render_page(
    survey: Survey, issuer: Issuer | None = None, earlier: Sequence[str] = (), station: str | None = None
) -> bytes:
    """The HTML of a survey, with the public keys of blind tokens and of a station, and hashes of earlier pages."""
    data = page_content(survey, issuer, earlier, station)
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
    survey: Survey, issuer: Issuer | None = None, earlier: Sequence[str] = (), station: str | None = None
) -> dict[str, Any]:
    """All that the scripts are told; practice and the check of the method have the shape of all questions."""
    version = survey if station is None else at_station(survey)
    data, words = shown_survey(version), page_words(version)
    practice, check = data.pop("practice"), data.pop("check")
    data["intro"] = [items.practice_item(question, words, index) for index, question in enumerate(practice)]
    data["intro"] += items.check_items(version, words) if check else []
    data["questions"] = items.question_items(data["questions"], words, data["intro"])
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
    pages = [page_hash(one, issuer) for one in (survey.hash, *earlier)]
    full = min(padded_length(survey, 0 if issuer is None else issuer.size), Limits.body)
    data |= {"hash": pages[0], "pages": pages, "length": full}
    if station is not None and survey.field is not None:
        own = {"kind": survey.field["station"], "key": station, "length": sealed_length(survey), "files": client.NAMES}
        data |= {"station": own, "verify": ["station_verify"]}
    return data if issuer is None else {**data, "issuer": issuer.to_dict()}


def _with_endings(words: Mapping[str, str], title: str) -> dict[str, str]:
    """The words of a language, with a heading and a sentence for every way in which it can end."""
    files = ", ".join(client.NAMES)
    texts = {**words, **{f"end_{status}": words["end_400"] for status in (413, 415)}}
    texts["verify_5"] = texts["verify_5"].replace("{files}", files)
    heads = {name: words["no_report"] for name in texts if name.startswith("end_")}
    heads |= {"end_201": words["thanks"], "end_already": words["thanks"], "end_link": title, "end_declined": title}
    return {**texts, **{name.replace("end_", HEADING_PREFIX, 1): text for name, text in heads.items()}}


def _number_format(language: str, own: Own | None) -> dict[str, str | int]:
    """How numbers are written in a language: as the promise writes them."""
    texts = phrases(language, own)
    return {name: texts[name] for name in ("decimal", "thousands")} | {"grouped_from": int(texts["grouped_from"])}


def _with_odds(
    layers: list[dict[str, Any]], questions: Sequence[items.Item], code: str, words: items.Words
) -> list[dict[str, Any]]:
    """What people agree to, with the odds of all questions where one unfolds what can be learned."""
    sentences = [text[code] for text in items.odds_by_question(questions)]
    odds = [words[code]["odds_each"], *sentences] if sentences else []
    return [{**one, "more": [*one["more"], *odds]} if one["name"] == "learn" else one for one in layers]


def script_json(data: object) -> str:
    """JSON that may stand between script tags: nothing in it can be taken for markup."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
_DATA = re.compile(r'(<script type="application/json" id="survey">)(.*?)(</script>)', re.DOTALL)
_IMPORT = re.compile(r'"\./(\w+\.js)"')
_PREVIEW = "PREVIEW"
_UNSENT = "This is a preview: nothing was sent."
_PRELOAD = re.compile(r'<link rel="modulepreload"[^>]*>\n')
# A frame has no address of its own to keep a history of, and going back must not turn the pages of the
# notebook around it.
_HISTORY = """
const past = ["consent"];
history.pushState = (state) => past.push(state);
history.replaceState = (state) => (past[past.length - 1] = state);
history.back = () => past.length > 1 && past.pop() && dispatchEvent(new PopStateEvent("popstate", { state: past.at(-1) }));
"""  # noqa: E501


@dataclass(frozen=True, repr=False)
class FormPreview:
    """The form of a survey: a notebook shows it, `save` writes it to a file; nothing that is tapped goes anywhere."""

    survey: Survey

    @property
    def html(self) -> str:
        """One page with everything in it."""
        form = render_page(self.survey).decode()
        form = _DATA.sub(lambda part: part[1] + script_json(_mark_preview(json.loads(part[2]))) + part[3], form)
        policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        form = form.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}')
        return _PRELOAD.sub("", form).replace('<script type="module" src="form.js"></script>', _preview_scripts())

    def save(self, path: str | Path) -> Path:
        """Write it as an .html file, and return its path."""
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
    """The same data for the page, with words that say what it is; no link is needed to get in."""
    words = {
        code: {
            **known,
            **{
                name: f"{_PREVIEW}: {text}"
                for name, text in known.items()
                if name in HEADINGS or name.startswith(HEADING_PREFIX)
            },
            **dict.fromkeys(("sending", "waiting", "waiting_here", "keeps_nothing"), _UNSENT),
        }
        for code, known in data["words"].items()
    }
    title = {code: f"{_PREVIEW}: {words}" for code, words in data["title"].items()}
    return {**data, "access": "open", "title": title, "words": words}


def _preview_scripts() -> str:
    """The page's own files as addresses that hold their content, by names that they find each other by."""
    scripts = [name for name in client.NAMES if name.endswith(".js")]
    known = {}
    for name in scripts:
        code = _IMPORT.sub(r'"preview/\1"', client.asset(name).decode()).encode()
        known[f"preview/{name}"] = f"data:text/javascript;base64,{base64.b64encode(code).decode()}"
    return (
        f'<script type="importmap">{json.dumps({"imports": known})}</script>\n<script>{_HISTORY}</script>\n'
        f'<script type="module">import "preview/form.js";</script>'
    )
