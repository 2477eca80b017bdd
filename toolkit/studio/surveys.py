"""Creating, reading, saving, undoing and previewing the surveys of a folder."""

import json
import tomllib
from pathlib import Path
from typing import Any

from toolkit.core.checks import check_choice, reject
from toolkit.studio import checking, notebooks
from toolkit.studio.editing import edit_text, is_javascript_safe, to_json_data
from toolkit.studio.folder import (
    RELEASED_TABLE,
    SESSION_SUFFIX,
    SURVEY_SUFFIXES,
    TABLE_SUFFIXES,
    ConflictError,
    Folder,
    fingerprint,
)
from toolkit.survey.dpia import assessment_html
from toolkit.survey.paper.sheets import printable_survey, printed_pages
from toolkit.survey.serving.page import FormPreview
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import LANGUAGES

_STARTER = Path(__file__).parent / "starter"
EXAMPLES = {name: _STARTER / f"{name}.toml" for name in ("exam", "workplace", "health", "class", "empty")}
"""The files from which a new survey can be copied."""

_MAX_UNDO = 200


class Surveys:
    """The surveys of a folder, with their changes since the studio was started."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._current: dict[str, bytes] = {}
        self._past: dict[str, list[bytes]] = {}
        self._undone: dict[str, list[bytes]] = {}

    def files(self) -> dict[str, Any]:
        """Return the surveys with their titles, and the tables whose statistics can be released."""
        others = {"constraints.toml", "pyproject.toml", "package.json"}
        surveys = [
            name
            for name in self.folder.file_names(*SURVEY_SUFFIXES)
            if not name.endswith(SESSION_SUFFIX) and name not in others
        ]
        titles = {name: title for name in surveys if (title := _title(self.folder, name)) is not None}
        tables = [name for name in self.folder.file_names(*TABLE_SUFFIXES) if not RELEASED_TABLE.search(name)]
        return {
            "path": str(self.folder.root),
            "surveys": [{"file": name, "title": title} for name, title in titles.items()],
            "tables": tables,
        }

    def new(self, file: str, example: str, language: str = "en") -> dict[str, Any]:
        """Write a new survey from an example and return its state."""
        text = EXAMPLES[check_choice(example, "example", [*EXAMPLES])].read_text(encoding="utf-8")
        text = text.replace("survey.toml", str(file))
        if example == "empty" and language in LANGUAGES:
            text = text.replace('languages = ["en"]', f'languages = ["{language}"]')
        self.folder.path(file, ".toml")
        self.folder.write(file, text.encode(), new=True)
        return self.state(file)

    def state(self, file: str, page_language: str = "en") -> dict[str, Any]:
        """Return the content of a file, its problems, and the losses and odds that the page shows.

        All changes since the last call become one undo step.
        """
        content = self.folder.read(file, *SURVEY_SUFFIXES)
        if (before := self._current.get(file, content)) != content:
            self._past[file] = [*self._past.get(file, []), before][-_MAX_UNDO:]
            self._undone.pop(file, None)
        self._current[file] = content
        base = {"file": file, "hash": fingerprint(content), "undo": file in self._past, "redo": file in self._undone}
        try:
            data = _read(file, content)
        except ValueError as problem:
            return base | {"broken": str(problem), "text": content.decode(errors="replace")}
        checked = checking.check(data, self.folder.root)
        return base | {
            "data": data,
            "problems": checked.problems,
            "facts": checking.page_facts(data, checked, page_language),
            "valid": checked.survey is not None,
            "readonly": not is_javascript_safe(data),
            "languages": sorted(LANGUAGES),
            "steps": notebooks.code_by_screen(file, data if checked.survey is not None else {}),
        }

    def save(self, file: str, hash: str, data: dict[str, Any], page_language: str = "en") -> dict[str, Any]:  # noqa: A002
        """Write the changed parts of the data, if the file still has this hash."""
        content = self.unchanged(file, hash, page_language)
        if not isinstance(data, dict):
            reject("a survey must be a table", type(data).__name__, "nothing was written", TypeError)
        text = edit_text(content.decode(), data, toml=file.lower().endswith(".toml")).encode()
        if text != content:
            self.folder.write(file, text)
        return self.state(file, page_language)

    def undo(self, file: str, hash: str, page_language: str = "en") -> dict[str, Any]:  # noqa: A002
        """Restore the file as it was before the last change, byte for byte."""
        return self._restore_version(file, hash, page_language, self._past, self._undone)

    def redo(self, file: str, hash: str, page_language: str = "en") -> dict[str, Any]:  # noqa: A002
        """Restore the file as it was before the last undo."""
        return self._restore_version(file, hash, page_language, self._undone, self._past)

    def _restore_version(
        self, file: str, expected: str, page_language: str, source: dict[str, Any], target: dict[str, Any]
    ) -> dict[str, Any]:
        """Replace the file with the last version in `source`, and append its present version to `target`."""
        content = self.unchanged(file, expected, page_language)
        if file not in source:
            reject(
                "there must be a change to undo or redo",
                "none",
                "only changes since the start of the studio are recorded",
            )
        self.folder.write(file, source[file][-1])
        self._current[file] = source[file].pop()
        target.setdefault(file, []).append(content)
        if not source[file]:
            del source[file]
        return self.state(file, page_language)

    def unchanged(self, file: str, expected: str, page_language: str = "en") -> bytes:
        """Return the content of a file, or raise ConflictError if it is not the version that the page shows."""
        content = self.folder.read(file, *SURVEY_SUFFIXES)
        if fingerprint(content) != expected:
            raise ConflictError(self.state(file, page_language))
        return content

    def data(self, file: str) -> dict[str, Any]:
        """Return the data of a survey's file, valid or not."""
        return _read(file, self.folder.read(file, *SURVEY_SUFFIXES))

    def load(self, file: str) -> Survey:
        """Return the survey in a file, or raise an error if it is not valid."""
        return Survey.load(self.folder.path(file, *SURVEY_SUFFIXES))

    def preview(self, file: str, view: str, language: str) -> tuple[str, bool]:
        """Return the HTML of a view for respondents or readers, and whether it contains scripts."""
        survey = self.load(file)
        code = check_choice(language, "language", survey.languages)
        if view == "phone":
            # The form chooses its language according to the preferences of the browser.
            script = f'<script>Object.defineProperty(navigator, "languages", {{ get: () => ["{code}"] }});</script>\n'
            html = FormPreview(survey).html
            return html.replace('<script type="importmap">', f'{script}<script type="importmap">', 1), True
        if view == "assessment":
            return assessment_html(survey, code), False
        check_choice(view, "view", ("phone", "paper", "assessment"))
        printable, _ = printable_survey(survey)
        return printed_pages(printable, code, ["00000"], survey.hash)[f"form.{code}.html"], False


def _read(file: str, content: bytes) -> dict[str, Any]:
    """Parse the content of a survey's file."""
    text = content.decode("utf-8")
    data = to_json_data(tomllib.loads(text) if file.lower().endswith(".toml") else json.loads(text))
    if not isinstance(data, dict):
        reject("a survey must be a table", type(data).__name__, "open another file", TypeError)
    return data


def _title(folder: Folder, name: str) -> str | None:
    """Return the title of a survey, its file name if it cannot be read, or None if the file is not a survey."""
    try:
        data = _read(name, folder.read(name))
    except (ValueError, TypeError, OSError):
        return name if name.endswith(".toml") else None
    if "questions" not in data and "consent" not in data:
        return None
    title = data.get("title", "")
    return str(next(iter(title.values()), "") if isinstance(title, dict) else title)
