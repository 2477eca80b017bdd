"""What all explorers share: a table that Python computes and sends once, code that draws it in the browser, a
still picture.
"""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.core.checks import choice, exact, refuse, whole
from toolkit.show.canvas import BLUE, INK, VERMILLION, png, png_bundle
from toolkit.texts.figures import figure

VERDICT = "You guessed {guess} {unit}; at this setting it is {truth}."
QUESTION = "\n".join(
    ["from toolkit import Question, warner", 'Question("name", "Have you ever …?", design=warner(epsilon={epsilon}))']
)
"""Warner's design as a question, for explorers whose epsilon is that of one answer."""


@dataclass(frozen=True)
class Asked:
    """What is to be predicted of the setting that the sliders have, and in which unit."""

    question: str
    unit: str


def plain(value: float) -> str:
    """A number as somebody typed it: thousands apart, at most three decimals, no idle zeros.

    >>> plain(4.0), plain(0.25), plain(14000.0), plain(0.0)
    ('4', '0.25', '14,000', '0')
    """
    text = figure(value, 3)
    return text.rstrip("0").rstrip(".")


def verdict(asked: Asked, guess: float, truth: str) -> str:
    """What was guessed, and what it is.

    >>> verdict(Asked("How wide is the margin?", "points"), 3.0, "5.9")
    'You guessed 3 points; at this setting it is 5.9.'
    """
    return VERDICT.format(guess=plain(guess), unit=asked.unit, truth=truth)


def call(maker: str, names: Sequence[str]) -> str:
    """Code that makes a widget anew, with a gap for each setting.

    >>> print(call("explore_design", ["epsilon", "n"]))
    from toolkit import show
    show.explore_design(epsilon={epsilon}, n={n})
    """
    settings = ", ".join(f"{name}={{{name}}}" for name in names)
    return f"from toolkit import show\nshow.{maker}({settings})"


def filled(code: str, settings: Mapping[str, Any]) -> str:
    """Code with its gaps filled by numbers and names; the browser does the same.

    >>> filled("show.explore_mechanism(law={law}, epsilon={epsilon})", {"law": "laplace", "epsilon": 0.5})
    'show.explore_mechanism(law="laplace", epsilon=0.5)'
    """
    return code.format(**{name: json.dumps(value) for name, value in settings.items()})


def icons(ax: Axes, yes: int) -> None:
    """A hundred people in five rows of twenty: the first `yes` filled, the others hollow. Below them is room
    for words.
    """
    across, down = [i % 20 for i in range(100)], [i // 20 for i in range(100)]
    ax.plot(across[:yes], down[:yes], "o", color=BLUE, markersize=8)
    ax.plot(
        across[yes:],
        down[yes:],
        "o",
        markeredgecolor=VERMILLION,
        markerfacecolor="none",
        markeredgewidth=1.6,
        markersize=7.5,
    )
    ax.set(xlim=(-0.6, 20), ylim=(17, -0.7), xticks=[], yticks=[], aspect="equal", anchor="NW")
    ax.spines[:].set_visible(False)


def say(ax: Axes, top: float, *sentences: str, width: int = 52) -> None:
    """Sentences from the left edge downwards, in lines of `width` characters."""
    text = "\n\n".join(textwrap.fill(sentence, width) for sentence in sentences)
    ax.text(ax.get_xlim()[0], top, text, va="top", fontsize=9.5, color=INK)


def point(ax: Axes, x: float, y: float, colour: str = VERMILLION) -> None:
    """The chosen point; above the axis it stands at its upper edge, hollow, and says so. The axis has its
    limits already.
    """
    top = ax.get_ylim()[1]
    if y <= top:
        ax.plot([x], [y], "o", color=colour, markersize=9)
        return
    ax.plot([x], [top], "o", markeredgecolor=colour, markerfacecolor="none", markersize=9, clip_on=False)
    ax.text(x, 0.93 * top, "  ↑ off the axis", va="top", fontsize=9, color=colour)


_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def joined(path: Path) -> str:
    """A module with all that it imports in front of it, each file once, and no import left.

    Files share one scope then, as they share no names: what is imported must be exported under the same name.
    """
    return "\n".join(_in_order(path.resolve(), []).values())


def exports(code: str) -> set[str]:
    r"""The names that a module offers to others.

    >>> sorted(exports("export function html() {}\nconst own = 1;\nexport const SIZE = 3;"))
    ['SIZE', 'html']
    """
    return set(_EXPORT.findall(code))


def imports(code: str) -> dict[str, set[str]]:
    r"""The names that a module takes from others, by the other's address.

    >>> imports('import { html, svg } from "./elements.js";\n') == {"./elements.js": {"html", "svg"}}
    True
    """
    return {
        source: {name.strip() for name in names.split(",") if name.strip()} for names, source in _IMPORT.findall(code)
    }


def _in_order(path: Path, waiting: list[Path]) -> dict[Path, str]:
    if path in waiting:
        raise RuntimeError(f"{path.name} imports itself, by way of {waiting[-1].name}")
    code = path.read_text(encoding="utf-8")
    found: dict[Path, str] = {}
    for source, names in imports(code).items():
        other = (path.parent / source).resolve()
        missing = names - exports(other.read_text(encoding="utf-8"))
        if missing:
            raise RuntimeError(f"{path.name} imports {', '.join(sorted(missing))}, which {other.name} does not export")
        found |= {key: text for key, text in _in_order(other, [*waiting, path]).items() if key not in found}
    return found | {path: _IMPORT.sub("", code)}


STATIC = Path(__file__).parent / "static"


def browser_code(name: str) -> str:
    """The ES module of a widget, with the parts that it imports."""
    return joined(STATIC / name)


def browser_style(name: str) -> str:
    """The CSS of a widget: what all of them wear, then its own file."""
    return "\n".join(_text(part) for part in ("theme.css", name))


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


class Explorer(anywidget.AnyWidget):
    """A widget that answers one question while a slider moves; drawn in the browser, computed by the toolkit.

    A subclass has `_esm = browser_code("its_name.js")`, its own synced traits (`Between`, `Whole`, `OneOf`),
    and the three methods below. It fills `table` once; `row` is for what was typed exactly and stands in no
    table. Neither may hold more than plain numbers, text, lists and dicts, because both go to the browser.

    With `guess=True` the live widget asks for a prediction before it shows the answer, and draws both beside
    each other; what was predicted is found again in `prediction`. The still picture of a saved notebook shows
    the answer: nobody can guess there. Where `asks` is set, `truth` has the number that is asked for; `maker`
    is the function of `toolkit.show` that makes such a widget, for the code that can be copied.
    """

    _css = browser_style("kit.css")

    asks: ClassVar[Asked | None] = None
    maker: ClassVar[str] = ""
    as_question: ClassVar[str] = ""

    table = traitlets.Dict().tag(sync=True)
    row = traitlets.Dict().tag(sync=True)
    guess = traitlets.Bool(default_value=False).tag(sync=True)
    prediction = traitlets.Float(default_value=None, allow_none=True).tag(sync=True)
    asked = traitlets.Dict(read_only=True).tag(sync=True)
    codes = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.on_msg(self._wanted)

    @traitlets.default("asked")
    def _what_is_asked(self) -> dict[str, str]:
        return {"question": self.asks.question, "unit": self.asks.unit, "verdict": VERDICT} if self.asks else {}

    @traitlets.default("codes")
    def _what_can_be_copied(self) -> dict[str, str]:
        codes = {"code": self.maker and call(self.maker, self.settings()), "question": self.as_question}
        return {kind: code for kind, code in codes.items() if code}

    @traitlets.validate("guess")
    def _can_be_guessed(self, proposal: Any) -> bool:
        if proposal["value"] and self.asks is None:
            refuse("`guess` needs a widget that asks for a number", True, "this one has nothing to predict")
        return bool(proposal["value"])

    @classmethod
    def settings(cls) -> list[str]:
        """The names of what the sliders set, as the function takes them."""
        kinds = Between, Whole, OneOf
        return [name for name, trait in cls.class_traits().items() if isinstance(trait, kinds)]

    def code(self, kind: str = "code") -> str:
        """The code that makes what is shown now; "question": the same epsilon as a `Question` of a survey."""
        choice(kind, "kind", tuple(self.codes))
        return filled(self.codes[kind], {name: getattr(self, name) for name in self.settings()})

    def truth(self) -> tuple[float, str]:
        """The number that a guess is compared with, and how the sentences write it."""
        raise NotImplementedError

    def verdict(self) -> str:
        """What was guessed and what it is, in a sentence; nothing where nothing was guessed."""
        if self.asks is None or self.prediction is None:
            return ""
        return verdict(self.asks, self.prediction, self.truth()[1])

    def _wanted(self, _widget: object, content: Any, _buffers: object) -> None:
        """Draw the setting that the browser shows, which Python may not have heard of yet, and send it."""
        if not isinstance(content, dict) or content.get("kind") != "picture":
            return
        setting = content.get("setting") or {}
        for name in set(self.settings()) & set(setting):
            setattr(self, name, setting[name])
        self.send({"kind": "picture", "name": f"{self.maker or 'picture'}.png"}, [png(self.picture())])

    def setting(self) -> str:
        """What is set now, in a few words, the same each time: the repr of the widget says it."""
        raise NotImplementedError

    def describe(self) -> dict[str, str]:
        """The sentences that are shown now."""
        raise NotImplementedError

    def picture(self) -> Figure:
        """What is shown now as a still picture, for readers without a kernel."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.setting()}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The live widget, and for every other reader a picture of how it starts."""
        live = super()._repr_mimebundle_(**kwargs)
        if live is None:
            return None
        picture, metadata = png_bundle(self.picture(), repr(self), " ".join(filter(None, self.describe().values())))
        return {**live[0], **picture}, {**live[1], **metadata}


class Between(traitlets.Float[float, float]):
    """A number between two ends, synced; refused with a reason where it is not. `strict`: the ends are out,
    too.
    """

    def __init__(self, least: float, most: float, consequence: str, *, strict: bool = False) -> None:
        super().__init__((least + most) / 2 if strict else least)
        self.least, self.most, self.consequence, self.strict = least, most, consequence, strict
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> float:
        number = float(super().validate(obj, value))
        exact(number, str(self.name))  # refuses what is not finite
        inside = self.least < number < self.most if self.strict else self.least <= number <= self.most
        if not inside:
            rule = f"`{self.name}` must lie {'strictly ' if self.strict else ''}between {self.least} and {self.most}"
            refuse(rule, number, self.consequence)
        return number


class Whole(traitlets.Int[int, int]):
    """A whole number of at least `least`, synced."""

    def __init__(self, least: int = 1, most: int = 10**9) -> None:
        super().__init__(least)
        self.least, self.most = least, most
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> int:
        number = whole(super().validate(obj, value), str(self.name), least=self.least)
        if number > self.most:
            refuse(f"`{self.name}` must be at most {self.most:,}", number, "nothing is computed beyond it")
        return number


class OneOf(traitlets.Unicode[str, str | bytes]):
    """One of a few names, synced."""

    def __init__(self, *allowed: str) -> None:
        super().__init__(allowed[0])
        self.allowed = allowed
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> str:
        return choice(super().validate(obj, value), str(self.name), self.allowed)
