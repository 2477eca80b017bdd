"""Write the exam papers, and their solutions: `make teacher DIR=…` writes both into DIR/exams, as pages to print.

The papers are in notebooks/teaching/exams.toml, which neither a wheel nor a student's copy contains.
"""

import html
import sys
import tomllib
from pathlib import Path
from typing import Any

EXAMS = Path(__file__).parents[1] / "notebooks" / "teaching" / "exams.toml"
LEVELS = {"recall": "Recall", "apply": "Apply", "judge": "Judge"}
MINUTES = 90
STYLE = (
    "@page{size:A4;margin:2cm}body{font:12pt/1.45 sans-serif;color:#000;background:#fff;max-width:42em;margin:0 auto}"
    "h2{font-size:14pt;margin:1.6em 0 .4em}h3{font-size:12pt;margin:1.2em 0 .2em}section{break-inside:avoid}"
    "p{margin:.3em 0}table{border-collapse:collapse}th,td{border:1px solid #555;padding:.2em .7em;text-align:left}"
    ".space{height:4.5cm}"
)


def load_exams() -> dict[str, dict[str, Any]]:
    """Load both papers with their solutions, by name."""
    return tomllib.loads(EXAMS.read_text(encoding="utf-8"))


def points_of(question: dict[str, Any]) -> int:
    """Return the points of a question: the sum over the steps of its solution."""
    return sum(points for points, _ in question["steps"])


def render_exam(exam: dict[str, Any], *, solutions: bool = False) -> str:
    """Return a paper as HTML, with space for the answers or with the solutions."""
    title = html.escape(exam["title"] + (": solutions" if solutions else ""))
    questions = exam["questions"]
    parts = [
        f"<h2>{heading}</h2>"
        + "".join(
            _render_question(number, question, solutions=solutions)
            for number, question in enumerate(questions, start=1)
            if question["level"] == level
        )
        for level, heading in LEVELS.items()
    ]
    head = f"<meta charset='utf-8'><title>{title}</title><style>{STYLE}</style>"
    intro = f"<h1>{title}</h1>{_render_overview(exam, solutions=solutions)}"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{intro}{''.join(parts)}</body></html>\n"


def _render_overview(exam: dict[str, Any], *, solutions: bool) -> str:
    points = {
        heading: sum(points_of(question) for question in exam["questions"] if question["level"] == level)
        for level, heading in LEVELS.items()
    }
    rows = "".join(f"<tr><td>{heading}</td><td>{number}</td></tr>" for heading, number in points.items())
    table = f"<table><tr><th>level</th><th>points</th></tr>{rows}<tr><th>all</th><th>{sum(points.values())}</th></tr>"
    rules = f"<p>This exam covers {html.escape(exam['covers'])}. You have {MINUTES} minutes. A calculator and one sheet"
    rules += " of your own notes are allowed. Show how you found each number.</p>"
    name = "" if solutions else "<p>Name: ………………………………………………………</p>"
    return f"{name}{rules}{table}</table>"


def _render_question(number: int, question: dict[str, Any], *, solutions: bool) -> str:
    points = points_of(question)
    heading = f"<h3>{number}. ({points} points)</h3><p>{html.escape(question['asked'])}</p>"
    if not solutions:
        return f"<section>{heading}<div class='space'></div></section>"
    steps = "".join(f"<tr><td>{given}</td><td>{html.escape(text)}</td></tr>" for given, text in question["steps"])
    return f"<section>{heading}<table><tr><th>points</th><th>for</th></tr>{steps}</table></section>"


def write_all(folder: Path) -> None:
    """Write both papers, each with and without solutions."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, exam in load_exams().items():
        (folder / f"{name}_exam.html").write_text(render_exam(exam), encoding="utf-8")
        (folder / f"{name}_exam_solutions.html").write_text(render_exam(exam, solutions=True), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
