"""The contents of written documents, read back: the rows of tables, and all text."""

import re
from html.parser import HTMLParser

import pytest


class Cells(HTMLParser):
    """The rows of tables, and all text."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.text, self.cell = [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.cell = True
        elif tag == "img":
            self.text.append(dict(attrs)["alt"])

    def handle_endtag(self, tag):
        self.cell = None if tag in ("td", "th") else self.cell

    def handle_data(self, data):
        self.text.append(data)
        if self.cell:
            self.rows[-1][-1] += data


def read(path):
    """Return all rows of tables, and the text."""
    if path.suffix == ".docx":
        made = pytest.importorskip("docx").Document(str(path))
        rows = [[cell.text for cell in row.cells] for table in made.tables for row in table.rows]
        return rows, "\n".join(one.text for one in made.paragraphs)
    if path.suffix == ".html":
        cells = Cells(path.read_text(encoding="utf-8"))
        return cells.rows, "\n".join(cells.text)
    text = path.read_text(encoding="utf-8")
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in line] for line in lines], text
