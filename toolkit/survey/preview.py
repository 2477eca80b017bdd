"""`Preview`: the form as respondents see it, in a notebook or a file, without a server.

It is the page itself, with its own program, in a frame that may not open a connection: its policy
(`default-src 'none'`) allows nothing but what is written in it. Every heading says that it is a preview.
"""

import base64
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.survey import client
from toolkit.survey.serving.page import HEAD, as_block, page
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import HEADINGS

_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
_DATA = re.compile(r'(<script type="application/json" id="survey">)(.*?)(</script>)', re.DOTALL)
_IMPORT = re.compile(r'"\./(\w+\.js)"')
_MARK = "PREVIEW"
_UNSENT = "This is a preview: nothing was sent."
_AHEAD = re.compile(r'<link rel="modulepreload"[^>]*>\n')
# A frame has no address of its own to keep a history of, and going back must not turn the pages of the
# notebook around it.
_HISTORY = """
const past = ["consent"];
history.pushState = (state) => past.push(state);
history.replaceState = (state) => (past[past.length - 1] = state);
history.back = () => past.length > 1 && past.pop() && dispatchEvent(new PopStateEvent("popstate", { state: past.at(-1) }));
"""  # noqa: E501


@dataclass(frozen=True, repr=False)
class Preview:
    """The form of a survey: a notebook shows it, `save` writes it to a file; nothing that is tapped goes anywhere."""

    survey: Survey

    @property
    def html(self) -> str:
        """One page with everything in it."""
        form = page(self.survey).decode()
        form = _DATA.sub(lambda part: part[1] + as_block(_marked(json.loads(part[2]))) + part[3], form)
        policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        form = form.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}')
        return _AHEAD.sub("", form).replace('<script type="module" src="form.js"></script>', _program())

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


def _marked(data: dict[str, Any]) -> dict[str, Any]:
    """The same data for the page, with words that say what it is; no link is needed to get in."""
    words = {
        code: {
            **known,
            **{name: f"{_MARK}: {text}" for name, text in known.items() if name in HEADINGS or name.startswith(HEAD)},
            **dict.fromkeys(("sending", "waiting", "waiting_here", "keeps_nothing"), _UNSENT),
        }
        for code, known in data["words"].items()
    }
    title = {code: f"{_MARK}: {words}" for code, words in data["title"].items()}
    return {**data, "access": "open", "title": title, "words": words}


def _program() -> str:
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
