"""Documents of headings, paragraphs, lists, tables and pictures, in Markdown, HTML, Word or PDF."""

import base64
import html
import io
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.extras import check_extras, extra

_CSS = """
@page { margin: 2cm; @bottom-center { content: counter(page); font: 9pt sans-serif; color: #555 } }
body { font: 10.5pt/1.5 Arial, Helvetica, "Liberation Sans", sans-serif; max-width: 46em; margin: 2em auto;
  padding: 0 1em; color: #1a1a1a; background: #fff; overflow-wrap: break-word }
h1, h2, h3 { line-height: 1.25; break-after: avoid; color: #0b4f5c }
h1 { font-size: 1.9em; border-bottom: 2px solid #0b4f5c; padding-bottom: .2em }
h2 { font-size: 1.35em; margin-top: 1.8em }
h3 { font-size: 1.08em; margin-top: 1.4em }
table { border-collapse: collapse; width: 100%; margin: .8em 0; font-size: .9em; font-variant-numeric: tabular-nums;
  border-top: 1.5px solid #1a1a1a; border-bottom: 1.5px solid #1a1a1a }
caption { text-align: start; padding: .3em 0; font-weight: bold }
th, td { padding: .3em .6em; text-align: start; vertical-align: top; overflow-wrap: break-word;
  border-bottom: 1px solid #d5dadb }
thead th { border-bottom: 1px solid #1a1a1a }
tbody th { font-weight: normal }
table:has(caption), tr, figure { break-inside: avoid }
figure { margin: 1em 0 }
img { max-width: 100% }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: .5em; font-size: .85em }
@media screen { .wide { overflow-x: auto } }
@media screen and (max-width: 40em) { .wide table:has(tr > :nth-child(4)) { min-width: 34em } }
@media print { body { max-width: none; margin: 0; padding: 0 } table { font-size: .82em } th, td { hyphens: auto } }
"""
_FONT = "Arial"  # the font of Word documents; LibreOffice replaces it with a font of the same widths
_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAX_ROWS_KEPT = 20  # a table with more rows may continue on the next page of a Word document
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MARKDOWN_CHARACTERS = re.compile(r"([\\`*<\[\]|])")
_MARKDOWN_PREFIX = re.compile(r"^(?=[#\-+>])|^(?=\d+[.)])")


@dataclass(frozen=True)
class Block:
    """A block of a document.

    The kinds are "h1", "h2", "h3", "p", "li", "code", "table" (header row first) and "picture" (alt text and PNG). The
    text of a table is its caption; tables with a caption are numbered.
    """

    kind: str
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    png: bytes = b""


@dataclass(frozen=True)
class Document:
    """A sequence of blocks, starting with the title; `save` writes it in the format of the file's suffix."""

    blocks: tuple[Block, ...]
    language: str = "en"

    def _numbered(self) -> Iterator[Block]:
        """Yield the blocks, with "Table 1." and so on before the captions of tables."""
        numbers = count(1)
        for block in self.blocks:
            has_caption = block.kind == "table" and block.text
            yield replace(block, text=f"Table {next(numbers)}. {block.text}") if has_caption else block

    @classmethod
    def from_markdown(cls, text: str, language: str = "en") -> "Document":
        """Parse Markdown as written by this package: headings, paragraphs, lists and tables."""
        blocks: list[Block] = []
        for line in text.splitlines():
            level = len(line) - len(line.lstrip("#"))
            if line.startswith("|"):
                cells = tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
                last = blocks.pop() if blocks and blocks[-1].kind == "table" else Block("table")
                blocks.append(Block("table", rows=last.rows if set(line) <= set("|-: ") else (*last.rows, cells)))
            elif line.startswith("- "):
                blocks.append(Block("li", line[2:]))
            elif line:
                blocks.append(Block(f"h{level}", line[level:].strip()) if level else Block("p", line.strip("*")))
        return cls(tuple(blocks), language)

    def markdown(self) -> str:
        """Return the document as Markdown, with pictures replaced by their alt text."""
        parts: list[str] = []
        for index, block in enumerate(self._numbered()):
            near = index and block.kind == "li" == self.blocks[index - 1].kind
            parts += [*([] if near or not index else [""]), *_block_markdown(block)]
        return "\n".join(parts) + "\n"

    def html(self) -> str:
        """Return the document as a printable, self-contained HTML page."""
        body: list[str] = []
        for index, block in enumerate(self._numbered()):
            before, after = (self.blocks[i].kind if 0 <= i < len(self.blocks) else "" for i in (index - 1, index + 1))
            markup = _block_html(block)
            if block.kind == "li":
                markup = f"{'' if before == 'li' else '<ul>'}{markup}{'' if after == 'li' else '</ul>'}"
            body.append(markup)
        title = next((block.text for block in self.blocks if block.kind == "h1"), "")
        size = "<meta name='viewport' content='width=device-width'>"
        head = f"<meta charset='utf-8'>{size}<title>{_escape_html(title)}</title><style>{_CSS}</style>"
        where = f"lang='{self.language}' dir='{'rtl' if self.language[:2] in ('ar', 'fa', 'he', 'ur') else 'ltr'}'"
        return f"<!doctype html><html {where}><head>{head}</head><body><main>{''.join(body)}</main></body></html>"

    def save(self, path: str | Path) -> Path:
        """Write the document to a .md, .html, .docx or .pdf file; PDF requires Chromium or LibreOffice."""
        target = Path(path)
        suffix = target.suffix.lower()
        makers: dict[str, Callable[[], str | bytes]] = {
            ".md": self.markdown,
            ".html": self.html,
            ".docx": self._docx,
            ".pdf": self._pdf,
        }
        if suffix not in makers:
            reject(f"a document must end in {', '.join(makers)}", repr(target.suffix), "nothing was written")
        content = makers[suffix]()
        target.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
        return target

    def _docx(self) -> bytes:
        check_extras("docx")
        document = extra("docx").Document()
        _style_docx(document)
        for block in self._numbered():
            _add_docx_block(document, block)
        document.core_properties.title = _replace_illegal(self.blocks[0].text if self.blocks else "")[:255]
        document.core_properties.author = ""
        out = io.BytesIO()
        document.save(out)
        return out.getvalue()

    def _pdf(self) -> bytes:
        """Return the document as PDF, printed by a browser or by LibreOffice; neither loads other files."""
        browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
        office = shutil.which("soffice") or shutil.which("libreoffice")
        if browser is None and office is None:
            rule = "a PDF needs Chromium or LibreOffice on this machine"
            reject(rule, "neither", "write .html, and print it from a browser")
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "page.html" if browser else "page.docx"), Path(folder, "page.pdf")
            if browser:
                source.write_text(self.html(), encoding="utf-8", errors="backslashreplace")
                alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
                command = [browser, "--headless", "--disable-gpu", *alone, f"--user-data-dir={folder}/profile"]
                command += ["--no-pdf-header-footer", f"--print-to-pdf={out}", source.as_uri()]
            else:
                source.write_bytes(self._docx())
                command = [str(office), "--headless", f"-env:UserInstallation={Path(folder, 'profile').as_uri()}"]
                command += ["--convert-to", "pdf", "--outdir", folder, str(source)]
            run = subprocess.run(command, capture_output=True, timeout=180, check=False)  # noqa: S603
            if run.returncode or not out.is_file():
                rule = "the program that prints must succeed"
                reject(rule, f"exit code {run.returncode}", "write .html, and print it from a browser")
            return out.read_bytes()


def _replace_illegal(text: str) -> str:
    """Replace characters that XML does not allow."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)


def _escape_html(text: str) -> str:
    return html.escape(_replace_illegal(text)).replace("\n", "<br>")


def _block_markdown(block: Block) -> list[str]:
    """Return a block as lines of Markdown, with Markdown characters in its text escaped."""
    if block.kind == "code":
        return ["```", *block.text.splitlines(), "```"]
    text = _MARKDOWN_PREFIX.sub(r"\\", _inline_markdown(block.text))
    if block.kind == "table":
        lines = [f"| {' | '.join(map(_inline_markdown, row))} |" for row in block.rows]
        return [*([f"*{text}*", ""] if text else []), lines[0], f"|{'---|' * len(block.rows[0])}", *lines[1:]]
    leads = {"p": "", "li": "- ", "picture": "Picture: "}
    return [f"{leads[block.kind] if block.kind in leads else '#' * int(block.kind[1]) + ' '}{text}"]


def _inline_markdown(text: str) -> str:
    return _MARKDOWN_CHARACTERS.sub(r"\\\1", " ".join(text.split()))


def _block_html(block: Block) -> str:
    if block.kind == "picture":
        data = base64.b64encode(block.png).decode()
        alt = html.escape(_replace_illegal(block.text))
        return f"<figure><img alt='{alt}' src='data:image/png;base64,{data}'></figure>"
    if block.kind == "table":
        head, *rest = ["".join(_html_cell(cell, index) for index, cell in enumerate(row)) for row in block.rows]
        head = "".join(f"<th>{_escape_html(cell)}</th>" for cell in block.rows[0])
        caption = f"<caption>{_escape_html(block.text)}</caption>" if block.text else ""
        body = f"<thead><tr>{head}</tr></thead><tbody><tr>{'</tr><tr>'.join(rest)}</tr></tbody>"
        # A table that is wider than the screen scrolls, and can be reached and scrolled with the keyboard.
        label = html.escape(_replace_illegal(block.text or ", ".join(block.rows[0])))
        return f"<div class='wide' role='group' tabindex='0' aria-label='{label}'><table>{caption}{body}</table></div>"
    tag = "pre" if block.kind == "code" else block.kind
    return f"<{tag}>{html.escape(_replace_illegal(block.text)) if tag == 'pre' else _escape_html(block.text)}</{tag}>"


def _html_cell(text: str, index: int) -> str:
    return f"<td>{_escape_html(text)}</td>" if index else f"<th scope='row'>{_escape_html(text)}</th>"


def _add_docx_block(document: Any, block: Block) -> None:
    if block.kind == "picture":
        shape = document.add_picture(io.BytesIO(block.png), width=extra("docx.shared").Inches(6))
        shape._inline.docPr.set("descr", _replace_illegal(block.text))
    elif block.kind == "table":
        if block.text:
            document.add_paragraph(_replace_illegal(block.text), style="Caption").paragraph_format.keep_with_next = True
        table = document.add_table(rows=0, cols=len(block.rows[0]), style="Light Shading")
        qn = extra("docx.oxml.ns").qn
        look = table._tbl.tblPr.find(qn("w:tblLook"))
        look.set(qn("w:val"), "0620")  # a header row, but neither bands nor a first column in bold
        for name in ("firstRow", "lastRow", "firstColumn", "lastColumn", "noHBand", "noVBand"):
            look.set(qn(f"w:{name}"), str(int(name in ("firstRow", "noHBand", "noVBand"))))
        widths = [int(share * extra("docx.shared").Inches(6)) for share in _column_shares(block.rows)]
        for column, width in zip(table.columns, widths, strict=True):
            column.width = width
        for index, row in enumerate(block.rows):
            docx_row = table.add_row()
            is_kept = len(block.rows) <= _MAX_ROWS_KEPT and index < len(block.rows) - 1
            _fill_docx_row(docx_row.cells, row, is_bold=not index, is_kept=is_kept)
            for cell, width in zip(docx_row.cells, widths, strict=True):
                cell.width = width
            _set_docx_flag(docx_row._tr.get_or_add_trPr(), "w:cantSplit")
        _set_docx_flag(table.rows[0]._tr.get_or_add_trPr(), "w:tblHeader")  # the header row is repeated on every page
        document.add_paragraph()
    elif block.kind.startswith("h"):
        document.add_heading(_replace_illegal(block.text), int(block.kind[1]))
    else:
        style = {"li": "List Bullet", "code": "No Spacing"}.get(block.kind)
        run = document.add_paragraph(style=style).add_run(_replace_illegal(block.text))
        if block.kind == "code":
            run.font.name, run.font.size = "Courier New", extra("docx.shared").Pt(8)


def _style_docx(document: Any) -> None:
    """Set one sans-serif font for text, headings and captions, and add page numbers to the footer."""
    colour = extra("docx.shared").RGBColor(0x0B, 0x4F, 0x5C)
    for name in ("Normal", "Caption", "Title", "Heading 1", "Heading 2", "Heading 3"):
        style = document.styles[name]
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for theme in [name for name in fonts.attrib if name.endswith("Theme")]:
            del fonts.attrib[theme]  # the theme's font would replace the named one
        style.font.name = _FONT
        if name != "Normal":
            style.font.color.rgb = colour
    document.styles["Normal"].font.size = extra("docx.shared").Pt(10.5)
    footer = document.sections[0].footer.paragraphs[0]
    footer.alignment = extra("docx.enum.text").WD_ALIGN_PARAGRAPH.CENTER
    field = extra("docx.oxml").OxmlElement("w:fldSimple")
    field.set(extra("docx.oxml.ns").qn("w:instr"), "PAGE")
    footer._p.append(field)


def _set_docx_flag(properties: Any, name: str) -> None:
    properties.append(extra("docx.oxml").OxmlElement(name))


def _column_shares(rows: Sequence[Sequence[str]]) -> list[float]:
    """Return each column's share of the width of a table, which grows with its longest text up to 40 characters."""
    longest = [6 + min(40, max(map(len, column))) for column in zip(*rows, strict=True)]
    return [length / sum(longest) for length in longest]


def _fill_docx_row(docx_cells: Sequence[Any], texts: Sequence[str], *, is_bold: bool, is_kept: bool) -> None:
    """Write the texts; a row that is kept stays on the same page as the next."""
    for cell, text in zip(docx_cells, texts, strict=True):
        cell.paragraphs[0].paragraph_format.keep_with_next = is_kept
        run = cell.paragraphs[0].add_run(_replace_illegal(text))
        run.bold, run.font.size = is_bold, extra("docx.shared").Pt(9)
