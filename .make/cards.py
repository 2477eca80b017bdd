"""Cards to print for a class without phones: `make cards DIR=…` writes cards.html, for a die, two coins, and
for a month of birth.

Each card says what to do in secret and has a slip to tick; the last page is for whoever counts. The odds come
from the designs that the notebooks estimate with.
"""

import html
import sys
from pathlib import Path

from toolkit import warner
from toolkit.local.design import Design

CARDS = (
    ("A die", "a die", "2/3", "Throw a die, and show it to nobody.", "has not seen your die"),
    (
        "Two coins",
        "two coins, one after the other",
        "3/4",
        "Toss a coin twice, and show it to nobody.",
        "has not seen your coin",
    ),
    (
        "A month of birth",
        "a month of birth",
        "3/4",
        "Think of a birthday that nobody in this room knows. Take its month, 1 to 12. Tell nobody.",
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


def cards(question: str = "…") -> str:
    """A page of six cards for each device, and the page for the tally."""
    pages = "".join(_page(*card, question) for card in CARDS)
    head = f"<meta charset='utf-8'><title>A class answers: cards</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{pages}{_tally()}</body></html>\n"


def _page(title: str, device: str, p: str, first: str, unseen: str, question: str) -> str:
    steps = "".join(f"<li>{html.escape(step)}.</li>" for step in _steps(warner(p=p), device))
    asked = f"<p><b>{html.escape(question)}</b></p>" if question != "…" else "<p>Question: ………………………………</p>"
    told = f"<p>Nobody who {unseen} can be sure of your answer.</p><p class='slip'>☐ no &nbsp; ☐ yes</p>"
    card = f"<div class='card'><h2>{title}</h2>{asked}<p>{html.escape(first)}</p><ul>{steps}</ul>{told}</div>"
    return f"<div class='cards'>{card * 6}</div>"


def _steps(design: Design, name: str) -> list[str]:
    """What to do with a device that realizes the design exactly."""
    (found,) = [device for device in design.devices() if device.name == name and device.exact]
    return [step.strip().replace("say ", "tick ") for step in found.instructions.split(".") if step.strip()]


def _tally() -> str:
    rows = "".join(f'<tr><td>{title}</td><td>warner(p="{p}")</td><td></td><td></td></tr>' for title, _, p, *_ in CARDS)
    head = "<tr><th>cards</th><th>design</th><th>slips with no</th><th>slips with yes</th></tr>"
    said = "Mix the folded slips, then count. One kind of card for one class: they have different odds."
    code = 'warner(p="3/4").estimate_counts([no, yes])'
    return f"<h2>Tally</h2><p>{said}</p><table>{head}{rows}</table><p>Type it in: <code>{code}</code></p>"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cards.html").write_text(cards(*sys.argv[2:3]), encoding="utf-8")
