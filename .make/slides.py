"""`make slides DIR=…`: write a handout and the slides of every notebook.

Slides are made from notebooks/teaching/slides.toml: a title, at most three lines, a picture or a table, and notes.

The arrow keys change the slide, and N shows the speaker's notes; in print, each slide is a page with its notes. The
page follows the light or dark mode of the system, and needs no network.
"""

import html
import re
import sys
import tomllib
from itertools import zip_longest
from pathlib import Path

import nbformat

from handout import FOLDER, KEYS, render_handout, render_markdown
from moving import PICTURES
from moving import STYLE as MOTION

_WIDE_TABLE = 62  # characters; wider tables get more space and smaller letters
DECKS = FOLDER / "teaching" / "slides.toml"
LIGHT = {"ink": "#222222", "ground": "#ffffff", "faint": "#6b6b6b", "yes": "#0072b2", "no": "#b34f00"}
DARK = {"ink": "#e6e6e6", "ground": "#212121", "faint": "#9a9a9a", "yes": "#56b4e9", "no": "#e69f00"}
STYLE = (
    "@page{size:A4 landscape;margin:1cm}"
    f":root{{{';'.join(f'--{name}:{value}' for name, value in LIGHT.items())}}}"
    "body{margin:0;font:27px/1.4 sans-serif;color:var(--ink);background:var(--ground)}"
    "section{display:none;box-sizing:border-box;min-height:100vh;padding:5vh 6vw}"
    "section:target,section.first:not(:has(~ section:target)){display:block}"
    "section:has(~ section:target){display:none}"
    "h1{font-size:46px;margin:0 0 4vh;color:var(--yes)}"
    ".two{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:3vw;align-items:center;min-height:62vh}"
    "ul{margin:0;padding:0;list-style:none}li{margin:0 0 .9em}"
    "figure{margin:0}figure img,.moving{width:100%;height:auto;max-height:66vh;object-fit:contain}"
    "table{border-collapse:collapse;margin:0 auto;font-size:20px}caption{margin-bottom:.5em}"
    "th,td{padding:.3em .6em;text-align:right;font-weight:normal;border-bottom:1px solid var(--faint)}"
    ".two:has(table.wide){grid-template-columns:minmax(0,1fr) minmax(0,2fr)}"
    "table.wide{font-size:17px}.wide th,.wide td{padding:.3em .4em}"
    "th,td{white-space:nowrap}tfoot td{font-size:17px;color:var(--faint);white-space:normal}"
    "aside{display:none;margin-top:2vh;font-size:18px;color:var(--faint);border-top:1px solid;padding-top:1vh}"
    ".speaking aside{display:block}"
    "nav{position:fixed;right:1em;bottom:.6em;color:var(--faint);font-size:15px}"
    "@media(prefers-color-scheme:dark){"
    f":root{{{';'.join(f'--{name}:{value}' for name, value in DARK.items())}}}"
    "img{filter:invert(.9) hue-rotate(180deg) brightness(1.3)}}"
    f"@media print{{:root{{{';'.join(f'--{name}:{value}' for name, value in LIGHT.items())}}}img{{filter:none}}"
    # In print, the notes stand at the foot of the page, and pictures get what is left.
    "section{display:flex!important;flex-direction:column;height:185mm;min-height:0;padding:0 3vw;break-after:page}"
    "h1{margin:0 0 1vh}.two{flex:1;min-height:0}figure img,.moving{max-height:115mm}"
    "aside{display:block}nav{display:none}}" + MOTION
)
SPEAK = """
addEventListener("keydown", ({ key }) => {
  if (key === "n" || key === "N") document.body.classList.toggle("speaking");
});
"""


def load_decks() -> dict[str, list[dict[str, object]]]:
    """Load the slides of each notebook, by the notebook's number."""
    return tomllib.loads(DECKS.read_text(encoding="utf-8"))


def render_deck(path: Path) -> str:
    """Return the slides of a notebook as HTML."""
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    sections = [_render_section(place, slide, cells) for place, slide in enumerate(load_decks()[path.name[:2]])]
    title = html.escape(str(load_decks()[path.name[:2]][0]["title"]))
    head = f"<meta charset='utf-8'><title>{title}</title><style>{STYLE}</style>"
    body = f"{''.join(sections)}<nav></nav><script>{KEYS}{SPEAK}</script>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"


def _render_section(place: int, slide: dict[str, object], cells: dict[str, nbformat.NotebookNode]) -> str:
    first = " class='first'" if place == 0 else ""
    lines = "".join(f"<li>{_render_line(line)}</li>" for line in slide["lines"])
    columns = f"<div class='two'><ul>{lines}</ul><figure>{_picture(str(slide['picture']), cells)}</figure></div>"
    title, notes = html.escape(str(slide["title"])), html.escape(str(slide["notes"]))
    return f"<section id='slide{place + 1}'{first}><h1>{title}</h1>{columns}<aside>{notes}</aside></section>"


def _render_line(line: str) -> str:
    text = render_markdown(line, size=20).strip().removeprefix("<p>").removesuffix("</p>")
    return re.sub(r" (?=[%=])|(?<=[=±−]) ", "&nbsp;", text)  # no line break within "ε = 1" or "± 3 %"


def _picture(name: str, cells: dict[str, nbformat.NotebookNode]) -> str:
    """Return a picture made for slides, or what a cell shows: a picture with its alternative text, or a table."""
    if name in PICTURES:
        return PICTURES[name]()
    (shown,) = [output.data for output in cells[name].outputs if "text/html" in output.get("data", {})]
    page = str(shown["text/html"])
    if "image/png" in shown:
        return page.partition("<style>")[0]
    (table,) = re.findall(r"<table.*</table>", page, flags=re.DOTALL)
    table = re.sub(r"(?<=<table)[^>]*|(?<=<tr)[^>]*", "", table)
    rows = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in table.partition("<tfoot")[0].split("<tr>")]
    width = sum(4 + max(map(len, column)) for column in zip_longest(*rows, fillvalue=""))
    return table if width < _WIDE_TABLE else table.replace("<table>", "<table class='wide'>", 1)


def write_all(folder: Path) -> None:
    """Write a handout and the slides of every notebook."""
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        (folder / f"{notebook.stem}.html").write_text(render_handout(notebook), encoding="utf-8")
        (folder / f"{notebook.stem}_slides.html").write_text(render_deck(notebook), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
