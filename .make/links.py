"""Look through a site that was built: every link leads to a place that exists, and nothing is fetched from elsewhere.

python .make/links.py build/docs/html
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
ELSEWHERE = ("http:", "https:", "//")
OF_THE_THEME = {"canonical", "next", "prev", "search", "index"}


class Page(HTMLParser):
    """The names of places in a page, its links, and what a browser would fetch for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """One element."""
        values = {name: value for name, value in attributes if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if values.get("rel") not in OF_THE_THEME:
            self.fetched += [values[name] for name in values if (tag, name) in FETCHED]


@cache
def read(path: Path) -> Page:
    """A page, once."""
    return Page(path.read_text(encoding="utf-8"))


def faults(folder: Path) -> list[str]:
    """What is wrong, a line each."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        page, name = read(path), path.relative_to(folder)
        found += [
            f"{name}: fetched from elsewhere: {address}" for address in page.fetched if address.startswith(ELSEWHERE)
        ]
        for link in page.links:
            if link.startswith(ELSEWHERE) or link.startswith(("mailto:", "data:", "javascript:")):
                continue
            address, place = urldefrag(unquote(link))
            target = (path.parent / address).resolve() if address else path
            if not target.exists():
                found.append(f"{name}: no such file: {link}")
            elif place and target.suffix == ".html" and place not in read(target).places:
                found.append(f"{name}: no such place: {link}")
    return found


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    sys.exit("\n".join(lines) or None)
