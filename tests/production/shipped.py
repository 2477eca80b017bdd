"""The files of docs/production, with the names of an example exchanged for those of a test: nothing else is changed."""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "production"


def shipped(name, changes):
    """The text of a file, with every word of `changes`, which must be in it, replaced."""
    text = (FOLDER / name).read_text()
    for word, other in changes.items():
        assert word in text, word
        text = text.replace(word, str(other))
    return text
