import io
import shutil
import subprocess
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.needs import lacking_program
from toolkit.texts import document as documents
from toolkit.texts.document import Block, Document

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
WHOLE = Document(
    (
        Block("h1", "A <title> | with #marks"),
        Block("p", "- no list; *no* stress [no](link)"),
        Block("li", "one"),
        Block("li", "two"),
        Block("table", "caption", (("a", "b|c"), ("1", "<b>"))),
        Block("code", "x <- 1\n*y*"),
        Block("picture", "what is seen", png=PNG),
    )
)


def test_markdown_says_what_was_said_and_nothing_in_it_is_a_mark():
    assert WHOLE.markdown() == (
        "# A \\<title> \\| with #marks\n\n\\- no list; \\*no\\* stress \\[no\\](link)\n\n- one\n- two\n\n"
        "*Table 1. caption*\n\n"
        "| a | b\\|c |\n|---|---|\n| 1 | \\<b> |\n\n```\nx <- 1\n*y*\n```\n\nPicture: what is seen\n"
    )


def test_a_page_is_well_formed_and_loads_nothing():
    class Tags(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.text = [], []

        def handle_starttag(self, tag, attrs):
            assert not dict(attrs).get("src", "data:").startswith(("http", "//"))
            self.open += [] if tag in ("meta", "img", "br") else [tag]

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

        def handle_data(self, data):
            self.text.append(data)

    tags = Tags()
    tags.feed(WHOLE.html())
    assert tags.open == []
    assert "A <title> | with #marks" in tags.text
    assert "<ul><li>one</li><li>two</li></ul>" in WHOLE.html()
    assert "<main><ul><li>1</li><li>2</li></ul></main>" in Document((Block("li", "1"), Block("li", "2"))).html()
    assert "<caption>Table 1. caption</caption><thead><tr><th>a</th><th>b|c</th></tr></thead>" in WHOLE.html()
    assert "<tbody><tr><th scope='row'>1</th><td>&lt;b&gt;</td></tr></tbody>" in WHOLE.html()
    assert "<pre>x &lt;- 1\n*y*</pre>" in WHOLE.html()
    assert "<main><p>a<br>b</p></main>" in Document((Block("p", "a\nb"),)).html()
    assert "dir='rtl'" in Document((Block("h1", "x"),), "ar").html()


def test_markdown_of_this_package_is_read_back():
    text = "# Title\n\n**Bold.**\n\n- one\n\n| a | b |\n|---|---|\n| 1\\|2 | 3 |\n"
    assert Document.from_markdown(text).blocks == (
        Block("h1", "Title"),
        Block("p", "Bold."),
        Block("li", "one"),
        Block("table", rows=(("a", "b"), ("1|2", "3"))),
    )


@pytest.mark.slow
def test_a_word_document_has_all_of_it(tmp_path):
    docx = pytest.importorskip("docx")
    path = Document((*WHOLE.blocks, Block("p", "bell \x07 end"))).save(tmp_path / "a.docx")
    made = docx.Document(io.BytesIO(path.read_bytes()))
    texts = [one.text for one in made.paragraphs]
    assert {"A <title> | with #marks", "one", "x <- 1\n*y*", "bell \N{REPLACEMENT CHARACTER} end"} <= set(texts)
    assert [cell.text for row in made.tables[0].rows for cell in row.cells] == ["a", "b|c", "1", "<b>"]
    rows = made.tables[0].rows
    flags = [[child.tag.rpartition("}")[2] for child in row._tr.trPr] for row in rows]
    assert flags == [["cantSplit", "tblHeader"], ["cantSplit"]]  # the head is repeated, and no row is split
    assert "Table 1. caption" in texts
    assert made.styles["Heading 1"].font.name == made.styles["Normal"].font.name == "Arial"
    assert 'w:instr="PAGE"' in made.sections[0].footer.paragraphs[0]._p.xml
    fonts = [
        (run.bold, run.font.size.pt)
        for row in made.tables[0].rows
        for cell in row.cells
        for run in cell.paragraphs[0].runs
    ]
    assert fonts == [(True, 9), (True, 9), (False, 9), (False, 9)]
    assert texts[texts.index("x <- 1\n*y*") - 1] == ""  # else the next table would be a part of this one
    code = made.paragraphs[texts.index("x <- 1\n*y*")].runs[0].font
    assert (code.name, code.size.pt, made.inline_shapes[0].width.inches) == ("Courier New", 8, 6)
    assert [column.width for column in made.tables[0].columns] == [cell.width for cell in rows[0].cells]
    shares = [column.width.inches / 6 for column in made.tables[0].columns]
    assert shares == pytest.approx([7 / 16, 9 / 16], abs=1e-5)  # "a" has one character, "b|c" has three
    assert [row.cells[0].paragraphs[0].paragraph_format.keep_with_next for row in rows] == [True, False]
    assert 'w:noHBand="1"' in made.tables[0]._tbl.tblPr.xml
    assert b'descr="what is seen"' in zipfile.ZipFile(path).read("word/document.xml")
    assert (made.core_properties.title, made.core_properties.author) == ("A <title> | with #marks", "")
    short = Document((Block("code", "x = 1"), Block("li", "an item"))).save(tmp_path / "short.docx")
    styles = {line.text: line.style.name for line in docx.Document(str(short)).paragraphs}
    assert (styles["x = 1"], styles["an item"]) == ("No Spacing", "List Bullet")
    long = Document((Block("h1", "x" * 300),)).save(tmp_path / "long.docx")  # Word takes a title of 255 letters
    assert docx.Document(str(long)).core_properties.title == "x" * 255


def test_another_name_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.md, \.html, \.docx, \.pdf, got '\.odt'"):
        WHOLE.save(tmp_path / "a.odt")
    assert list(tmp_path.iterdir()) == []


def test_without_a_program_that_prints_a_pdf_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(documents.shutil, "which", lambda _: None)
    with pytest.raises(ValueError, match="a PDF needs Chromium or LibreOffice on this machine, got neither"):
        WHOLE.save(tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("code", "printed"), [(1, False), (1, True), (0, False)])
def test_a_program_that_fails_is_told(tmp_path, monkeypatch, code, printed):
    def run(command, **_):
        if printed:
            Path(next(part for part in command if "page.pdf" in part).partition("=")[2]).write_bytes(b"%PDF-")
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(documents.shutil, "which", lambda _: "/bin/false")
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ValueError, match=f"must succeed, got exit code {code}"):
        WHOLE.save(tmp_path / "a.pdf")


@pytest.mark.slow
@pytest.mark.parametrize("programs", [documents._BROWSERS, ("soffice",)], ids=["browser", "office"])
def test_a_pdf_is_printed(tmp_path, monkeypatch, programs):
    there = {name: shutil.which(name) for name in programs if shutil.which(name)}
    if not there:
        lacking_program(programs[0], "chromium libreoffice-writer-nogui")
    monkeypatch.setattr(documents.shutil, "which", there.get)
    assert WHOLE.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")
