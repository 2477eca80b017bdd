"""Who asks, what for, and what becomes of the answers: said by the researchers, and asked for before a survey
leaves this machine.
"""

from collections.abc import Mapping
from typing import Protocol

from toolkit.core.checks import refuse
from toolkit.local.wording import Voice
from toolkit.survey.language.phrases import Own, phrases
from toolkit.survey.language.text import Text

OPTIONAL = ("withdrawal", "hashes")
"""What need not be said: without the first people are told that nothing can be taken back; the second is
where they can compare what their page shows at its end.
"""

THIS_MACHINE = "127.0.0.1"
_OWN = (THIS_MACHINE, "localhost", "::1")

Stated = Mapping[str, Text | None]
"""What the researchers say of themselves, by name."""


def missing(stated: Stated) -> list[str]:
    """What a board would ask for, and nobody has said."""
    return [name for name, text in stated.items() if text is None and name not in OPTIONAL]


def paragraphs(stated: Stated, language: str, own: Own | None = None, *, paper: bool = False) -> list[str]:
    """One paragraph for each statement; that this is a demonstration while any is missing. Paper has no
    hashes.
    """
    voice = Voice(phrases(language, own))
    said = {name: text for name, text in stated.items() if text is not None and not (paper and name == "hashes")}
    told = [voice.say(name, words=text[language]) for name, text in said.items()]
    return [*told, *([voice.say("demonstration")] if missing(stated) else [])]


class _Asking(Protocol):
    """What is asked of a survey here."""

    @property
    def rehearsal(self) -> bool: ...
    @property
    def stated(self) -> Stated: ...


def check_reach(survey: _Asking, host: str, public_url: str | None) -> None:
    """Whoever asks people beyond this machine must say who they are; a rehearsal is for colleagues."""
    beyond = host not in _OWN or public_url is not None
    if beyond and not survey.rehearsal and (absent := missing(survey.stated)):
        rule = f"a survey that is served beyond this machine must say {', '.join(absent)}"
        refuse(rule, "nothing", "people must know who asks, and what becomes of their answers")
