"""`make slides DIR=…`: a handout of every notebook, and slides to speak with, where there are some.

Slides are made from notebooks/teaching/slides.toml: a title, at most three lines, a picture, and notes.

Arrow keys turn the slides, N shows the notes of the speaker; printed, each slide is a page with its notes. The page is
light or dark as the system is, and asks nothing of a network.
"""

import html
import sys
import tomllib
from pathlib import Path

import nbformat

from handout import FOLDER, KEYS, handout, rendered
from moving import PICTURES
from moving import STYLE as MOTION

DECKS = FOLDER / "teaching" / "slides.toml"
LIGHT = {"ink": "#222222", "ground": "#ffffff", "faint": "#6b6b6b", "yes": "#0072b2", "no": "#b34f00"}
DARK = {"ink": "#e6e6e6", "ground": "#1a1a1a", "faint": "#9a9a9a", "yes": "#56b4e9", "no": "#e69f00"}
STYLE = (
    "@page{size:A4 landscape;margin:1cm}"
    f":root{{{';'.join(f'--{name}:{value}' for name, value in LIGHT.items())}}}"
    "body{margin:0;font:27px/1.4 sans-serif;color:var(--ink);background:var(--ground)}"
    "section{display:none;box-sizing:border-box;min-height:100vh;padding:5vh 6vw}"
    "section:target,section.first:not(:has(~ section:target)){display:block}"
    "section:has(~ section:target){display:none}"
    "h1{font-size:46px;margin:0 0 4vh;color:var(--yes)}"
    ".two{display:grid;grid-template-columns:2fr 3fr;gap:3vw;align-items:center;min-height:62vh}"
    "ul{margin:0;padding:0;list-style:none}li{margin:0 0 .9em}"
    "figure{margin:0}figure img,.moving{width:100%;height:auto;max-height:66vh;object-fit:contain}"
    "aside{display:none;margin-top:2vh;font-size:18px;color:var(--faint);border-top:1px solid;padding-top:1vh}"
    ".speaking aside{display:block}"
    "nav{position:fixed;right:1em;bottom:.6em;color:var(--faint);font-size:15px}"
    "@media(prefers-color-scheme:dark){"
    f":root{{{';'.join(f'--{name}:{value}' for name, value in DARK.items())}}}"
    "img{filter:invert(.9) hue-rotate(180deg)}}"
    f"@media print{{:root{{{';'.join(f'--{name}:{value}' for name, value in LIGHT.items())}}}img{{filter:none}}"
    "section{display:block!important;break-after:page}aside{display:block}nav{display:none}}" + MOTION
)
SPEAK = """
addEventListener("keydown", ({ key }) => {
  if (key === "n" || key === "N") document.body.classList.toggle("speaking");
});
"""


def decks() -> dict[str, list[dict[str, object]]]:
    """The slides of each notebook that has some, by its number."""
    return tomllib.loads(DECKS.read_text(encoding="utf-8"))


def deck(path: Path) -> str:
    """The slides of a notebook as a page."""
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    sections = [_section(place, slide, cells) for place, slide in enumerate(decks()[path.name[:2]])]
    title = html.escape(str(decks()[path.name[:2]][0]["title"]))
    head = f"<meta charset='utf-8'><title>{title}</title><style>{STYLE}</style>"
    body = f"{''.join(sections)}<nav></nav><script>{KEYS}{SPEAK}</script>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"


def _section(place: int, slide: dict[str, object], cells: dict[str, nbformat.NotebookNode]) -> str:
    first = " class='first'" if place == 0 else ""
    lines = "".join(f"<li>{_line(line)}</li>" for line in slide["lines"])
    two = f"<div class='two'><ul>{lines}</ul><figure>{_picture(str(slide['picture']), cells)}</figure></div>"
    title, notes = html.escape(str(slide["title"])), html.escape(str(slide["notes"]))
    return f"<section id='slide{place + 1}'{first}><h1>{title}</h1>{two}<aside>{notes}</aside></section>"


def _line(line: str) -> str:
    return rendered(line, size=20).strip().removeprefix("<p>").removesuffix("</p>")


def _picture(name: str, cells: dict[str, nbformat.NotebookNode]) -> str:
    """One made for slides, or the picture that a cell shows, with the words for those who do not see it."""
    if name in PICTURES:
        return PICTURES[name]()
    (page,) = [output.data["text/html"] for output in cells[name].outputs if "image/png" in output.get("data", {})]
    return str(page).partition("<style>")[0]


def write(folder: Path) -> None:
    """A handout of every notebook, and the slides of those that have some."""
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        (folder / f"{notebook.stem}.html").write_text(handout(notebook), encoding="utf-8")
        if notebook.name[:2] in decks():
            (folder / f"{notebook.stem}_slides.html").write_text(deck(notebook), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
