"""Surveys of the folder: new ones, the file with what is said of it, saving, undoing, and what others would see."""

import json
import tomllib
from pathlib import Path
from typing import Any

from toolkit.core.checks import choice, reject
from toolkit.studio import checking, notebooks
from toolkit.studio.editing import edited, is_safe, plain
from toolkit.studio.folder import RELEASED, SESSION, SURVEYS, TABLES, ConflictError, Folder, fingerprint
from toolkit.survey.dpia import sheet_html
from toolkit.survey.paper.sheets import on_paper, printed_pages
from toolkit.survey.serving.page import FormPreview
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import LANGUAGES

_STARTER = Path(__file__).parent / "starter"
EXAMPLES = {name: _STARTER / f"{name}.toml" for name in ("exam", "workplace", "health", "class", "empty")}
"""What a new survey begins with."""

_MOST_STEPS = 200  # that can be undone


class Surveys:
    """The surveys of a folder, and what was done to them since the studio was started."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._seen: dict[str, bytes] = {}
        self._past: dict[str, list[bytes]] = {}
        self._undone: dict[str, list[bytes]] = {}

    def files(self) -> dict[str, Any]:
        others = {"constraints.toml", "pyproject.toml", "package.json"}
        surveys = [name for name in self.folder.names(*SURVEYS) if not name.endswith(SESSION) and name not in others]
        titles = {name: title for name in surveys if (title := _title(self.folder, name)) is not None}
        listed = [{"file": name, "title": title} for name, title in titles.items()]
        tables = [name for name in self.folder.names(*TABLES) if not RELEASED.search(name)]
        return {"path": str(self.folder.root), "surveys": listed, "tables": tables}

    def new(self, file: str, example: str, language: str = "en") -> dict[str, Any]:
        """Write a survey to start from, and return it."""
        text = EXAMPLES[choice(example, "example", [*EXAMPLES])].read_text(encoding="utf-8")
        text = text.replace("survey.toml", str(file))
        if example == "empty" and language in LANGUAGES:
            text = text.replace('languages = ["en"]', f'languages = ["{language}"]')
        self.folder.path(file, ".toml")
        self.folder.write(file, text.encode(), new=True)
        return self.state(file)

    def state(self, file: str, speak: str = "en") -> dict[str, Any]:
        """Return a file's data and all that is said of it; what changed since the last look is one step."""
        content = self.folder.read(file, *SURVEYS)
        if (before := self._seen.get(file, content)) != content:
            self._past[file] = [*self._past.get(file, []), before][-_MOST_STEPS:]
            self._undone.pop(file, None)
        self._seen[file] = content
        base = {"file": file, "hash": fingerprint(content), "undo": file in self._past, "redo": file in self._undone}
        try:
            data = _read(file, content)
        except ValueError as problem:
            return base | {"broken": str(problem), "text": content.decode(errors="replace")}
        checked = checking.check(data)
        return base | {
            "data": data,
            "problems": checked.problems,
            "facts": checking.facts(data, checked, speak),
            "valid": checked.survey is not None,
            "readonly": not is_safe(data),
            "languages": sorted(LANGUAGES),
            "steps": notebooks.steps(file, data if checked.survey is not None else {}),
        }

    def save(self, file: str, hash: str, data: dict[str, Any], speak: str = "en") -> dict[str, Any]:  # noqa: A002
        """Write what differs, if the file is still the one with this hash."""
        content = self.unchanged(file, hash, speak)
        if not isinstance(data, dict):
            reject("a survey must be a table", type(data).__name__, "nothing was written", TypeError)
        text = edited(content.decode(), data, toml=file.lower().endswith(".toml")).encode()
        if text != content:
            self.folder.write(file, text)
        return self.state(file, speak)

    def undo(self, file: str, hash: str, speak: str = "en") -> dict[str, Any]:  # noqa: A002
        """Bring the file back to what it was before the last change, byte for byte."""
        return self._step(file, hash, speak, self._past, self._undone)

    def redo(self, file: str, hash: str, speak: str = "en") -> dict[str, Any]:  # noqa: A002
        return self._step(file, hash, speak, self._undone, self._past)

    def _step(self, file: str, known: str, speak: str, back: dict[str, Any], forth: dict[str, Any]) -> dict[str, Any]:
        content = self.unchanged(file, known, speak)
        if file not in back:
            reject("there must be something to undo", "nothing", "only what was done since the start can be undone")
        self.folder.write(file, back[file][-1])
        self._seen[file] = back[file].pop()
        forth.setdefault(file, []).append(content)
        if not back[file]:
            del back[file]
        return self.state(file, speak)

    def unchanged(self, file: str, known: str, speak: str = "en") -> bytes:
        """Return what a file holds, if it is still the version that the page shows."""
        content = self.folder.read(file, *SURVEYS)
        if fingerprint(content) != known:
            raise ConflictError(self.state(file, speak))
        return content

    def data(self, file: str) -> dict[str, Any]:
        return _read(file, self.folder.read(file, *SURVEYS))

    def load(self, file: str) -> Survey:
        """Return the survey in a file; refused if something is wrong with it."""
        return Survey.load(self.folder.path(file, *SURVEYS))

    def seen(self, file: str, what: str, language: str) -> tuple[str, bool]:
        """Return a page that others would see, as HTML, and whether it has a program in it."""
        survey = self.load(file)
        code = choice(language, "language", survey.languages)
        if what == "phone":
            likes = f'<script>Object.defineProperty(navigator, "languages", {{ get: () => ["{code}"] }});</script>\n'
            return FormPreview(survey).html.replace(
                '<script type="importmap">', f'{likes}<script type="importmap">', 1
            ), True
        if what == "assessment":
            return sheet_html(survey, code), False
        choice(what, "what", ("phone", "paper", "assessment"))
        on_sheets, _ = on_paper(survey)
        return printed_pages(on_sheets, code, ["00000"], survey.hash)[f"form.{code}.html"], False


def _read(file: str, content: bytes) -> dict[str, Any]:
    """The data of a survey's file; refused if it is no table."""
    text = content.decode("utf-8")
    data = plain(tomllib.loads(text) if file.lower().endswith(".toml") else json.loads(text))
    if not isinstance(data, dict):
        reject("a survey must be a table", type(data).__name__, "open another file", TypeError)
    return data


def _title(folder: Folder, name: str) -> str | None:
    try:
        data = _read(name, folder.read(name))
    except (ValueError, TypeError, OSError):
        return name if name.endswith(".toml") else None
    if "questions" not in data and "consent" not in data:
        return None
    title = data.get("title", "")
    return str(next(iter(title.values()), "") if isinstance(title, dict) else title)
