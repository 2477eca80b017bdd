"""Check a built site: every link must lead to an existing anchor or file, and nothing may be fetched from other sites.

python .make/links.py build/docs/html
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
OTHER_SITES = ("http:", "https:", "//")
THEME_LINKS = {"canonical", "next", "prev", "search", "index"}


class Page(HTMLParser):
    """The anchors of a page, its links, and the addresses that a browser would fetch for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect the anchors, links and fetched addresses of one element."""
        values = {name: value for name, value in attributes if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if values.get("rel") not in THEME_LINKS:
            self.fetched += [values[name] for name in values if (tag, name) in FETCHED]


@cache
def read(path: Path) -> Page:
    """Parse a page; each page is parsed only once."""
    return Page(path.read_text(encoding="utf-8"))


def find_faults(folder: Path) -> list[str]:
    """Return one line for each broken link and each address on another site."""
    faults = []
    for path in sorted(folder.rglob("*.html")):
        page, name = read(path), path.relative_to(folder)
        faults += [
            f"{name}: fetched from elsewhere: {address}" for address in page.fetched if address.startswith(OTHER_SITES)
        ]
        for link in page.links:
            if link.startswith(OTHER_SITES) or link.startswith(("mailto:", "data:", "javascript:")):
                continue
            address, anchor = urldefrag(unquote(link))
            target = (path.parent / address).resolve() if address else path
            if not target.exists():
                faults.append(f"{name}: no such file: {link}")
            elif anchor and target.suffix == ".html" and anchor not in read(target).anchors:
                faults.append(f"{name}: no such anchor: {link}")
    return faults


if __name__ == "__main__":
    lines = find_faults(Path(sys.argv[1]))
    sys.exit("\n".join(lines) or None)
