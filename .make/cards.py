"""Write cards to print for a class without phones: `make cards DIR=…` writes cards.html for a die, two coins and a
month of birth.

Each card states what to do in secret and has a slip to tick; the last page is for the person who counts the slips. The
odds come from the designs that the notebooks use for their estimates.
"""

import html
import sys
from pathlib import Path

from toolkit import warner
from toolkit.local.design import Design

CARDS = (
    ("A die", "a die", "2/3", "Throw a die, and do not show it to anybody.", "has not seen your die"),
    (
        "Two coins",
        "two coins, one after the other",
        "3/4",
        "Toss a coin twice, and do not show it to anybody.",
        "has not seen your coin",
    ),
    (
        "A month of birth",
        "a month of birth",
        "3/4",
        "Think of a birthday that nobody in this room knows. Take its month, 1 to 12. Do not tell anybody.",
        "does not know the month",
    ),
)
STYLE = (
    "@page{size:A4;margin:1cm}body{font:11pt/1.3 sans-serif;color:#000;background:#fff;margin:0}"
    ".cards{display:grid;grid-template-columns:1fr 1fr;break-after:page}"
    ".card{border:1px dashed #555;padding:.5cm;min-height:9.1cm;box-sizing:border-box;break-inside:avoid}"
    "h2{margin:0 0 .3em;font-size:14pt}p{margin:.4em 0}ul{margin:.3em 0;padding-left:1.1em}"
    ".slip{font-size:15pt}"
    "table{border-collapse:collapse}td,th{border:1px solid #555;padding:.2cm .5cm;text-align:left}"
)


def render_cards(question: str = "…") -> str:
    """Return a page of six cards for each device, and the page for the tally, as HTML."""
    pages = "".join(_page(*card, question) for card in CARDS)
    head = f"<meta charset='utf-8'><title>A class answers: cards</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{pages}{_tally_page()}</body></html>\n"


def _page(title: str, device: str, p: str, first: str, observer: str, question: str) -> str:
    steps = "".join(f"<li>{html.escape(step)}.</li>" for step in _steps(warner(p=p), device))
    heading = f"<p><b>{html.escape(question)}</b></p>" if question != "…" else "<p>Question: ………………………………</p>"
    footer = f"<p>Nobody who {observer} can be sure of your answer.</p><p class='slip'>☐ no &nbsp; ☐ yes</p>"
    card = f"<div class='card'><h2>{title}</h2>{heading}<p>{html.escape(first)}</p><ul>{steps}</ul>{footer}</div>"
    return f"<div class='cards'>{card * 6}</div>"


def _steps(design: Design, name: str) -> list[str]:
    """Return the instructions for a device that realizes the design exactly, one per step."""
    (found,) = [device for device in design.devices() if device.name == name and device.exact]
    return [step.strip().replace("say ", "tick ") for step in found.instructions.split(".") if step.strip()]


def _tally_page() -> str:
    rows = "".join(f'<tr><td>{title}</td><td>warner(p="{p}")</td><td></td><td></td></tr>' for title, _, p, *_ in CARDS)
    head = "<tr><th>cards</th><th>design</th><th>slips with no</th><th>slips with yes</th></tr>"
    instruction = (
        "Mix the folded slips, then count. Use only one kind of card in a class: the odds differ between kinds."
    )
    code = 'warner(p="3/4").estimate_counts([no, yes])'
    return f"<h2>Tally</h2><p>{instruction}</p><table>{head}{rows}</table><p>Type it in: <code>{code}</code></p>"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cards.html").write_text(render_cards(*sys.argv[2:3]), encoding="utf-8")
