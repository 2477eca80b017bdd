"""The randomizer as one ES module for pages of other programs, with type declarations and documentation."""

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.checks import reject
from toolkit.survey.client import asset, toolkit_version
from toolkit.survey.questions.question import Question

if TYPE_CHECKING:
    from toolkit.survey.spec import Survey

STATIC = Path(__file__).parent / "static"

_TYPES = {"choice": "ChoiceDesign", "ticks": "TicksDesign", "number": "NumberDesign"}


def write_web_module(folder: str | Path, survey: "Survey | None" = None) -> list[Path]:
    """Write an ES module with which any web page randomizes answers in the browser.

    The module `hide.js` has the function `hide(design, answer)`. It contains the randomizer of the respondents' page
    unchanged, so the same random words give the same report as in Python. It needs no other file.

    Parameters
    ----------
    folder : str or Path
        The folder for the files; it is created if necessary.
    survey : Survey, optional
        A survey whose designs are written as well, into `designs.js`: one design for each question with mode "auto".

    Returns
    -------
    list of Path
        The files: the module, its types for TypeScript, a README.md with the version and the integrity hash, and the
        designs with their types.

    Raises
    ------
    ValueError
        If the survey has no design for a browser, or a question draws from a memo, which only the toolkit's own page
        keeps.

    Examples
    --------
    >>> import tempfile
    >>> from toolkit import Question, Survey, warner
    >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner("3/4"))], consent="We study exams.")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_web_module(folder, survey)]
    ['hide.js', 'hide.d.ts', 'README.md', 'designs.js', 'designs.d.ts']
    """
    questions = [] if survey is None else browser_questions(survey)
    if survey is not None and not questions:
        reject("a survey for the module must have a question with mode 'auto'", "none", "nothing was written")
    files = {
        "hide.js": module_code(),
        "hide.d.ts": (STATIC / "hide.d.ts").read_text(encoding="utf-8"),
        "README.md": _readme(questions),
        **({} if survey is None else _design_files(survey, questions)),
    }
    return write_files(folder, files)


def write_files(folder: str | Path, files: dict[str, str]) -> list[Path]:
    """Write text files into a folder, which is created if necessary, with the same bytes on every system."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (target / name).write_bytes(text.encode())
    return [target / name for name in files]


def escape_markup(text: str) -> str:
    """Return a text in which no markup, piped text or expression of another program has an effect.

    >>> escape_markup("<b>{name}</b> [[x]]")
    '&#60;b&#62;&#123;name&#125;&#60;/b&#62; &#91;&#91;x&#93;&#93;'
    """
    return "".join(f"&#{ord(sign)};" if sign in "&<>{}[]" else sign for sign in text)


def module_code() -> str:
    """Return the code of `hide.js`: its version, the randomizer of the respondents' page unchanged, and `hide`."""
    version = toolkit_version()
    head = (
        f"// privacy-survey-toolkit {version}: hide(design, answer) replaces an answer by a randomized report.\n"
        f'export const version = "{version}";\n\n'
    )
    return head + asset("randomizer.js").decode() + (STATIC / "hide.js").read_text(encoding="utf-8")


def integrity(code: str) -> str:
    """Return the hash with which a browser checks a file, as in the attribute `integrity` of a script.

    >>> integrity("")
    'sha384-OLBgp1GsljhM2TJ+sbHjaiH9txEUvgdDTAzHv2P24donTt6/529l+9Ua0vFImLlb'
    """
    return f"sha384-{base64.b64encode(hashlib.sha384(code.encode()).digest()).decode()}"


def browser_questions(survey: "Survey") -> list[Question]:
    """Return the questions whose answers are randomized by the browser; reject those that need the toolkit's page."""
    for question in survey.questions:
        if question.memo is not None:
            consequence = "only the page of `toolkit serve` keeps a memo between waves; use a design for one wave"
            reject("a question for another page must have no memo", repr(question.name), consequence)
    return [question for question in survey.questions if question.design is not None and question.mode == "auto"]


def _readme(questions: list[Question]) -> str:
    rows = ["`designs.js`, `designs.d.ts` | the designs of the survey, by the name of the question"]
    template = (STATIC / "hide.md").read_text(encoding="utf-8")
    return template.format(
        version=toolkit_version(),
        integrity=integrity(module_code()),
        design_rows="".join(f"| {row} |\n" for row in rows if questions),
        example=questions[0].name if questions else "cheated",
    )


def _design_files(survey: "Survey", questions: list[Question]) -> dict[str, str]:
    designs = {question.name: question.design._browser_data() for question in questions if question.design is not None}
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(data)}" for name, data in designs.items())
    types = "".join(f"  readonly {json.dumps(question.name)}: {_TYPES[question.kind]};\n" for question in questions)
    imports = ", ".join(sorted({_TYPES[question.kind] for question in questions}))
    head = f"// The designs of the survey with hash {survey.hash}."
    return {
        "designs.js": f"{head}\nexport const designs = {{\n{rows},\n}};\n",
        "designs.d.ts": f'import type {{ {imports} }} from "./hide.js";\n\nexport const designs: {{\n{types}}};\n',
    }
