"""Images of the researchers' own in questions, which are embedded so that a page fetches nothing from elsewhere."""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.survey.questions.errors import error_location
from toolkit.texts.multilingual import Frozen, checked_words

MOST_IMAGE_BYTES = 200_000
"""Largest size of an image file in bytes, because every phone loads it with the page."""

MOST_IMAGES_BYTES = 800_000
"""Largest total size of the images of a survey in bytes."""

_LONGEST_ALT, _LONGEST_NAME = 500, 100
_PREFIX, _ENCODING = "data:image/", ";base64,"
_EXAMPLE = 'write {"file": "card.png", "alt": "A red card"}, in TOML image = {file = "card.png", alt = "A red card"}'


def checked_image(value: object, *_: object) -> Frozen[str, Any] | None:
    """Check and return the image of a question as a data URI (`data`) with its description (`alt`)."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or set(value) not in ({"file", "alt"}, {"data", "alt"}):
        received = ", ".join(map(str, value))[:60] if isinstance(value, Mapping) else type(value).__name__
        reject("`image` must have the fields file and alt", received or "nothing", _EXAMPLE, TypeError)
    alt = checked_words(value["alt"], "image.alt", _LONGEST_ALT)
    if "file" in value:
        return Frozen({"data": read_image(Path(value["file"])), "alt": alt})
    return Frozen({"data": _data_uri(_decoded(value["data"])), "alt": alt})


def read_image(path: Path) -> str:
    """Return the image in a file as a data URI."""
    if not path.is_file():
        reject("the file of an image must exist", repr(path.name)[:60], "check its name")
    with path.open("rb") as stream:
        return _data_uri(stream.read(MOST_IMAGE_BYTES + 1))


def image_size(image: Mapping[str, Any] | None) -> int:
    """Return the number of bytes of an image, or 0 for None."""
    return 0 if image is None else len(_decoded(image["data"]))


def embed_images(data: Any, folder: Path) -> Any:
    """Return the data of a survey's file with its images read from the file's folder; other data are unchanged."""
    questions = data.get("questions") if isinstance(data, Mapping) else None
    if not isinstance(questions, list):
        return data
    return {**data, "questions": [embed_image(question, folder) for question in questions]}


def embed_image(question: Any, folder: Path | None) -> Any:
    """Return a question's data with its image read from the folder, or without the image if there is no folder."""
    image = question.get("image") if isinstance(question, Mapping) else None
    if not isinstance(image, Mapping) or "file" not in image:
        return question
    if folder is None:
        return {key: value for key, value in question.items() if key != "image"}
    name, file = question.get("name"), image["file"]
    with error_location(question=name if isinstance(name, str) else None, field="image"):
        is_name = isinstance(file, str) and file != ".." and 0 < len(file) <= _LONGEST_NAME and Path(file).name == file
        if not is_name or (folder / file).is_symlink():
            why = "other folders of this machine are not read: copy the image"
            reject("`image.file` must be the name of a file beside the survey's file", repr(file)[:60], why)
        rest = {key: value for key, value in image.items() if key != "file"}
        return {**question, "image": {**rest, "data": read_image(folder / file)}}


def reject_image(question: Any) -> None:
    """Reject a question with an image, which a form for another program does not contain."""
    if question.image is not None:
        rule = "a form for another program must have no image"
        reject(rule, repr(question.name), "leave it out, and add it in the other program")


def _decoded(uri: object) -> bytes:
    """Return the bytes of a data URI with an image."""
    head, encoding, text = uri.partition(_ENCODING) if isinstance(uri, str) else ("", "", "")
    content = b""
    if head.startswith(_PREFIX) and encoding and len(text) <= 2 * MOST_IMAGE_BYTES:
        try:
            content = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            content = b""
    if not content:
        why = "give the `file` instead, which is then read and embedded"
        reject("`image.data` must be a data URI in base64 of an image up to 200,000 bytes", "something else", why)
    return content


def _data_uri(content: bytes) -> str:
    """Return an image as a data URI; its type follows from its first bytes, not from its name."""
    if len(content) > MOST_IMAGE_BYTES:
        rule = f"an image must have at most {MOST_IMAGE_BYTES:,} bytes"
        reject(rule, "more", "every phone loads it with the page: make it smaller")
    signatures = {
        "png": content.startswith(b"\x89PNG\r\n\x1a\n"),
        "jpeg": content.startswith(b"\xff\xd8\xff"),
        "webp": content[:4] == b"RIFF" and content[8:12] == b"WEBP",
    }
    kind = next((kind for kind, is_so in signatures.items() if is_so), None)
    if kind is None:
        reject("an image must be a PNG, JPEG or WebP file", "other bytes", "other formats can contain programs")
    return f"{_PREFIX}{kind}{_ENCODING}{base64.b64encode(content).decode()}"
