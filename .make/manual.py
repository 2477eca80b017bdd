"""Print the documentation, which Sphinx wrote as one page, to a PDF: python .make/manual.py FOLDER MANUAL.pdf"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.lab import chromium

# A page of paper has no sidebars, menus or buttons, shows the text on the whole width, and is read in daylight.
STYLE = """
.bd-header, .bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article, .bd-footer, .prev-next-footer,
.headerlink, .copybtn, #pst-skip-link, #pst-back-to-top { display: none !important }
.bd-main, .bd-content, .bd-article-container, .bd-container__inner {
  max-width: none !important; width: 100% !important }
pre { white-space: pre-wrap !important; overflow-wrap: anywhere }
img { max-width: 100%; break-inside: avoid }
table { font-size: 80% }
h1, h2, h3 { break-after: avoid }
"""
FOOTER = "<div style='width: 100%; font-size: 8px; text-align: center'><span class='pageNumber'></span></div>"


def print_manual(folder: Path, target: Path) -> None:
    """Print the page with its formulas drawn, page numbers, and an outline for the sidebar of a PDF reader."""
    page_file = folder / "manual.html"
    # The builder writes links for a page at the top of the folder, but puts the page beside the first page's source.
    shutil.copy(folder / "docs" / "index.html", page_file)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium())
        page = browser.new_page(color_scheme="light", reduced_motion="reduce")
        page.set_default_timeout(600_000)
        page.goto(page_file.resolve().as_uri())
        page.wait_for_function("window.MathJax?.startup?.promise")
        page.evaluate("MathJax.startup.promise")
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.add_style_tag(content=STYLE)
        page.pdf(
            path=target,
            scale=0.7,
            format="A4",
            outline=True,
            tagged=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            margin={"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"},
        )
        browser.close()


if __name__ == "__main__":
    print_manual(Path(sys.argv[1]), Path(sys.argv[2]))
