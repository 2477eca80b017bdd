"""Make a handout of a notebook, as pages of HTML that need no network.

A page has the prose up to the next heading and the output of the cell after it (a picture, a table, a number), or the
code of the cell if it has no output. Imports, solutions and checks are left out; of a function that students write,
only the first line is shown. The arrow keys turn the pages; in print, each page is on its own sheet.
"""

import base64
import functools
import html
import io
import re
from pathlib import Path

import nbformat
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

FOLDER = Path(__file__).parents[1] / "notebooks"
OMITTED_TAGS = {"solution", "check", "answer"}
STYLE = (
    "@page{size:A4 landscape;margin:1cm}body{margin:0;font:21px/1.45 sans-serif;color:#222;background:#fff}"
    "section{display:none;box-sizing:border-box;min-height:100vh;padding:4vh 7vw;align-content:center}"
    "section:target,section.first:not(:has(~ section:target)){display:block}"
    "img{max-width:100%;max-height:62vh}table{border-collapse:collapse;font-size:17px}"
    "td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #bbb}"
    "pre{font-size:19px;white-space:pre-wrap}"
    "nav{position:fixed;right:1em;bottom:.6em;color:#767676;font-size:15px}a{color:#0072b2}"
    "@media print{section{display:block!important;break-after:page}nav{display:none}}"
)
KEYS = """
const all = [...document.querySelectorAll("section")];
const at = () => Math.max(0, all.findIndex((section) => `#${section.id}` === location.hash));
const go = (place) => { location.hash = all[Math.min(Math.max(place, 0), all.length - 1)].id; };
const showPosition = () => { document.querySelector("nav").textContent = `${at() + 1} of ${all.length}`; };
addEventListener("hashchange", showPosition);
addEventListener("keydown", ({ key }) => {
  if (["ArrowRight", "PageDown", " "].includes(key)) go(at() + 1);
  if (["ArrowLeft", "PageUp"].includes(key)) go(at() - 1);
});
showPosition();
"""
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$((?:[^$\n]|\n(?!\n))+?)\$", re.DOTALL)  # a formula may contain a line break
# TeX commands that matplotlib does not know, with replacements that both know.
_TEX_REPLACEMENTS = (
    (r"\\[td]frac", r"\\frac"),
    (r"\\frac\s*(\\[A-Za-z]+|\w)\s*(\\[A-Za-z]+|\w)", r"\\frac{\1}{\2}"),
    (r"\\frac(\w)\{", r"\\frac{\1}{"),
    (r"\\operatorname\b", r"\\mathrm"),
    (r"\\(sqrt|mathrm)\s*([A-Za-z0-9])", r"\\\1{\2}"),
    (r"\\(le|ge)\b", r"\\\1q"),
    (r"\\lim\b", r"\\mathrm{lim}"),
)


def render_handout(path: Path) -> str:
    """Return the handout of a notebook as HTML."""
    cells = nbformat.read(path, as_version=4).cells
    shown = [
        (piece, code if last else None)
        for prose, code in zip(cells, [*cells[1:], None], strict=True)
        if _is_prose(prose)
        for piece, last in _split_at_headings(prose.source)
    ]
    parts = [_page(place, text, code if place else None) for place, (text, code) in enumerate(shown)]
    title = html.escape(cells[0].source.splitlines()[0].lstrip("# "))
    head = f"<meta charset='utf-8'><title>{title}</title><style>{STYLE}</style>"
    body = f"{''.join(parts)}<nav></nav><script>{KEYS}</script>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"


def _is_prose(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and "<details>" not in cell.source


def _split_at_headings(text: str) -> list[tuple[str, bool]]:
    """Split prose at its headings; the flag marks the last piece, which the code follows."""
    found = [piece.strip() for piece in re.split(r"^(?=#+ )", text, flags=re.MULTILINE) if piece.strip()]
    return [(piece, place == len(found) - 1) for place, piece in enumerate(found)]


def _page(place: int, prose: str, code: NotebookNode | None) -> str:
    text = re.sub(r"\]\((\d\d_\w+)\.ipynb\)", r"](\1.html)", prose)
    shown = "" if code is None or OMITTED_TAGS & set(code.metadata.get("tags", [])) else _render_code(code)
    first = " class='first'" if place == 0 else ""
    return f"<section id='slide{place + 1}'{first}>{render_markdown(text)}{shown}</section>"


def _render_code(code: NotebookNode) -> str:
    if "yours" in code.metadata.get("tags", []):
        return f"<pre>{html.escape(code.source.splitlines()[0])}\n    …</pre>"
    return _render_outputs(code) or f"<pre>{html.escape(code.source)}</pre>"


def render_markdown(text: str, size: float = 15) -> str:
    """Convert Markdown to HTML with formulas as pictures, because the page must not fetch a library to render them."""
    pictures: list[str] = []

    def replace(found: re.Match[str]) -> str:
        pictures.append(render_formula(found[1] or found[2], size))
        return f"FORMULA{len(pictures) - 1}X"

    made = re.sub(r'<a class="anchor-link".*?</a>', "", str(markdown2html(_FORMULA.sub(replace, text))))
    return re.sub(r"FORMULA(\d+)X", lambda found: pictures[int(found[1])], made)


@functools.cache
def render_formula(text: str, size: float = 15) -> str:
    """Return a formula as a picture that is aligned with the text line, or its source if it cannot be drawn."""
    plain = _replace_underbraces(" ".join(text.split()))
    for written, other in _TEX_REPLACEMENTS:
        plain = re.sub(written, other, plain)
    try:
        properties = FontProperties(size=size)
        width, height, depth, *_ = MathTextParser("path").parse(f"${plain}$", dpi=72, prop=properties)
    except ValueError:
        return f"<code>{html.escape(text)}</code>"
    figure = Figure(figsize=(width / 72 + 0.02, height / 72 + 0.02))
    figure.text(0, (depth + 0.7) / (height + 1.44), f"${plain}$", fontproperties=properties)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    bits = base64.b64encode(drawn.getvalue()).decode()
    style = f"height:{(height + 1.44) * 4 / 3:.1f}px;vertical-align:{-(depth + 0.7) * 4 / 3:.1f}px"
    return f'<img alt="{html.escape(text)}" style="{style}" src="data:image/svg+xml;base64,{bits}">'


def _replace_underbraces(text: str) -> str:
    r"""Replace `\\underbrace{…}_{…}` by its content with the words below, without the brace."""
    while (start := text.find(r"\underbrace{")) >= 0:
        end = _closing_brace(text, start + len(r"\underbrace"))
        below = _closing_brace(text, end + 2)
        body, words = text[start + len(r"\underbrace") : end + 1], text[end + 2 : below + 1]
        text = rf"{text[:start]}\underset{words}{body}{text[below + 1 :]}"
    return text


def _closing_brace(text: str, start: int) -> int:
    """Return the index of the brace that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(text)


def _render_outputs(code: NotebookNode) -> str:
    """Return the output of a cell as HTML: its picture or table, otherwise its text."""
    shown = []
    for output in code.get("outputs", []):
        data = output.get("data", {})
        text = html.escape(str(data.get("text/plain", "")))
        if "text/markdown" in data:
            shown.append(render_markdown(data["text/markdown"]))
        else:
            shown.append(str(data.get("text/html", f"<pre>{text}</pre>")))
    return "".join(shown)
