"""Notebooks in other languages: the English notebook with the text of its cells replaced.

`notebooks/teaching/languages/de.toml` has a table for each cell, by notebook and cell id. For a text cell, `text` is
the translation and `of` identifies the English text that was translated, so that no outdated translation is written.
For a code cell, `code` lists the comments and messages to replace. The table `everywhere` has the replacements for all
cells.
"""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.teaching.checking import NO_ANSWER
from toolkit.teaching.replies import translated_replies
from toolkit.teaching.student_cells import Cell, source_of, tags_of

_IMPORTS = re.compile(r"^from toolkit\.teaching import .+$", re.MULTILINE)
_LANGUAGE_IMPORT = "from toolkit.teaching.replies import set_language"


@dataclass(frozen=True)
class Translations:
    """The translations of the course into one language.

    Parameters
    ----------
    language : str
        The code of the language, such as "de".
    everywhere : dict of str to str
        Replacements in all cells.
    notebooks : dict of str to dict
        For each translated notebook, the translation of each cell by its id.
    """

    language: str
    everywhere: dict[str, str]
    notebooks: dict[str, dict[str, dict[str, Any]]]


def read_translations(path: Path) -> Translations:
    """Read the translations into one language, whose code is the name of the file."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return Translations(path.stem, tables.pop("everywhere"), tables)


def text_hash(source: str) -> str:
    """Return the characters that identify the English text of a cell."""
    return hashlib.sha256(source.encode()).hexdigest()[:8]


def translate_notebook(name: str, cells: list[Cell], translations: Translations) -> None:
    """Translate the cells of a notebook in place.

    Parameters
    ----------
    name : str
        The name of the notebook, without `.ipynb`.
    cells : list of dict
        The cells of the English notebook, or of its copy for students.
    translations : Translations
        The translations into the language.

    Raises
    ------
    ValueError
        If a text cell has no translation, or one of an earlier English text.
    """
    tables = translations.notebooks[name]
    for cell in cells:
        table, source = tables.get(cell["id"], {}), source_of(cell)
        if cell["cell_type"] == "markdown" and source in translations.everywhere:
            cell["source"] = translations.everywhere[source]
        elif cell["cell_type"] == "markdown":
            _check_current(name, cell["id"], source, table, translations.language)
            cell["source"] = table["text"]
        else:
            for english, translation in [*table.get("code", []), *translations.everywhere.items()]:
                source = source.replace(english, translation)
            cell["source"] = source
            _translate_output(cell, translations.language)
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    imports = _IMPORTS.sub(rf"\g<0>\n{_LANGUAGE_IMPORT}", first["source"])
    first["source"] = f'{imports}\n\nset_language("{translations.language}")'


def _check_current(name: str, cell_id: str, source: str, table: dict[str, Any], language: str) -> None:
    if table.get("of") != text_hash(source):
        reject(
            "each text cell must have a translation of its present text",
            f"none of cell {cell_id} of {name}",
            f'translate the cell in languages/{language}.toml, with of = "{text_hash(source)}"',
        )


def _translate_output(cell: Cell, language: str) -> None:
    """Translate the saved reply to an empty answer, the only output whose text depends on the language."""
    if "answer" not in tags_of(cell):
        return
    for data in (output["data"] for output in cell["outputs"]):
        data["text/plain"] = "".join(data["text/plain"]).replace(NO_ANSWER, translated_replies(language)[NO_ANSWER])
