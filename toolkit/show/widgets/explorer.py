"""What all explorers share: a table that Python sends once, code that draws it in the browser, a still picture."""

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import anywidget
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.core.checks import choice, exact, reject, whole
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION, new_figure, png, png_bundle
from toolkit.texts.figures import figure

VERDICT = "You guessed {guess} {unit}; at this setting it is {truth}."
QUESTION = """\
from toolkit import Question, warner
Question("name", "Have you ever …?", design=warner(epsilon={epsilon}))"""
"""Warner's design as a question, for explorers whose epsilon is that of one answer."""

Made = TypeVar("Made", bound=Callable[..., anywidget.AnyWidget])


@dataclass(frozen=True)
class Prediction:
    """What is to be predicted of the setting that the sliders have, and in which unit."""

    question: str
    unit: str


def makes(widget: type[anywidget.AnyWidget]) -> Callable[[Made], Made]:
    """Add to the docstring of a function that makes a widget the parameters of its class, and what is returned."""
    parameters = inspect.cleandoc(widget.__doc__ or "").partition("Parameters\n")[2].partition("\n\n")[0]

    def document(function: Made) -> Made:
        summary, examples, code = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
        returns = f"Returns\n-------\n{widget.__name__}\n    The live widget, which a notebook shows."
        function.__doc__ = f"{summary}\n\nParameters\n{parameters}\n\n{returns}{examples}{code}"
        return function

    return document


def still(height: float, setting: str, live: str = "sliders") -> Figure:
    """An empty still picture under its setting, with what there is for those who run the cell."""
    canvas = new_figure(width=8.2, height=height)
    canvas.suptitle(f"{setting}; run the cell for the {live}", x=0.01, ha="left", fontsize=10, color=GREY)
    return canvas


def bars(ax: Axes, sizes: Mapping[str, float], colours: object, decimals: int | None, gap: float, reach: float) -> None:
    """A bar for each name, with its number `gap` beyond the end, on an axis from 0 to `reach`."""
    ax.barh(range(len(sizes)), list(sizes.values()), color=colours, height=0.6)
    for place, size in enumerate(sizes.values()):
        ax.text(size + gap, place, figure(size, decimals), va="center", fontsize=9, color=INK)
    ax.set_yticks(range(len(sizes)), list(sizes))
    ax.set(ylim=(len(sizes) - 0.5, -0.5), xlim=(0, reach), xticks=[])
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def icons(ax: Axes, yes: int) -> None:
    """A hundred people in five rows of twenty: the first `yes` filled, the others hollow, and room for words below."""
    across, down = [i % 20 for i in range(100)], [i // 20 for i in range(100)]
    hollow: dict[str, Any] = {
        "markeredgecolor": VERMILLION,
        "markerfacecolor": "none",
        "markeredgewidth": 1.6,
        "markersize": 7.5,
    }
    ax.plot(across[:yes], down[:yes], "o", color=BLUE, markersize=8)
    ax.plot(across[yes:], down[yes:], "o", **hollow)
    bare(ax)


def bare(ax: Axes) -> None:
    """Room for a hundred people above and words below, without an axis."""
    ax.set(xlim=(-0.6, 20), ylim=(17, -0.7), xticks=[], yticks=[], aspect="equal", anchor="NW")
    ax.spines[:].set_visible(False)


def say(ax: Axes, top: float, *sentences: str, width: int = 52) -> None:
    """Sentences from the left edge downwards, in lines of `width` characters."""
    text = "\n\n".join(textwrap.fill(sentence, width) for sentence in sentences)
    ax.text(ax.get_xlim()[0], top, text, va="top", fontsize=9.5, color=INK)


_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def joined(path: Path) -> str:
    """A module with all that it imports in front of it; files share one scope, and import under the exported name."""
    return "\n".join(_in_order(path.resolve(), []).values())


def exports(code: str) -> set[str]:
    return set(_EXPORT.findall(code))


def imports(code: str) -> dict[str, set[str]]:
    """The names that a module takes from others, by the other's address."""
    return {source: set(re.findall(r"\w+", names)) for names, source in _IMPORT.findall(code)}


def _in_order(path: Path, waiting: list[Path]) -> dict[Path, str]:
    if path in waiting:
        raise RuntimeError(f"{path.name} imports itself, by way of {waiting[-1].name}")
    code = path.read_text(encoding="utf-8")
    modules: dict[Path, str] = {}
    for source, names in imports(code).items():
        other = (path.parent / source).resolve()
        missing = names - exports(other.read_text(encoding="utf-8"))
        if missing:
            raise RuntimeError(f"{path.name} imports {', '.join(sorted(missing))}, which {other.name} does not export")
        modules |= {key: text for key, text in _in_order(other, [*waiting, path]).items() if key not in modules}
    return modules | {path: _IMPORT.sub("", code)}


STATIC = Path(__file__).parent / "static"


def browser_code(path: str | Path) -> str:
    """The ES module of a widget, with the parts that it imports; a bare name is a file of this folder."""
    return joined(STATIC / path)


def browser_style(name: str) -> str:
    """The CSS of a widget: what all of them wear, then its own file."""
    return "\n".join((STATIC / part).read_text(encoding="utf-8") for part in ("theme.css", name))


class Explorer(anywidget.AnyWidget):
    """A widget that answers one question while a slider moves; drawn in the browser, computed by the toolkit.

    A subclass has `_esm = browser_code("its_name.js")`, its own synced traits (`Between`, `Whole`, `OneOf`), and the
    three methods below. It fills `table` once; `row` is for what was typed exactly and stands in no table. Neither may
    hold more than plain numbers, text, lists and dicts, because both go to the browser.

    With `guess=True` the live widget asks for a prediction before it shows the answer, and draws both beside each
    other; what was predicted is found again in `prediction`. The still picture of a saved notebook shows the answer:
    nobody can guess there. Where `asks` is set, `truth` has the number that is asked for; `maker` is the function of
    `toolkit.show` that makes such a widget, for the code that can be copied.
    """

    _css = browser_style("kit.css")

    asks: ClassVar[Prediction | None] = None
    maker: ClassVar[str] = ""
    as_question: ClassVar[str] = ""

    table = traitlets.Dict().tag(sync=True)
    row = traitlets.Dict().tag(sync=True)
    guess = traitlets.Bool(default_value=False).tag(sync=True)
    prediction = traitlets.Float(default_value=None, allow_none=True).tag(sync=True)
    asked = traitlets.Dict(read_only=True).tag(sync=True)
    codes = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.on_msg(self._send_picture)

    def __init_subclass__(cls, **options: Any) -> None:
        """Methods of an explorer mean the same in all of them, and say it."""
        super().__init_subclass__(**options)
        for name in ("truth", "setting", "describe", "picture"):
            if name in vars(cls):
                getattr(cls, name).__doc__ = getattr(Explorer, name).__doc__

    @traitlets.default("asked")
    def _what_is_asked(self) -> dict[str, str]:
        return {"question": self.asks.question, "unit": self.asks.unit, "verdict": VERDICT} if self.asks else {}

    @traitlets.default("codes")
    def _what_can_be_copied(self) -> dict[str, str]:
        gaps = ", ".join(f"{name}={{{name}}}" for name in self.settings())
        code = self.maker and f"from toolkit.teaching import explorers\nexplorers.{self.maker}({gaps})"
        return {kind: text for kind, text in {"code": code, "question": self.as_question}.items() if text}

    @traitlets.validate("guess")
    def _can_be_guessed(self, proposal: Any) -> bool:
        if proposal["value"] and self.asks is None:
            reject("`guess` needs a widget that asks for a number", True, "this one has nothing to predict")
        return bool(proposal["value"])

    @classmethod
    def settings(cls) -> list[str]:
        """Name what the sliders set.

        Returns
        -------
        list of str
            The names, as the function that makes the widget takes them.
        """
        kinds = Between, Whole, OneOf
        return [name for name, trait in cls.class_traits().items() if isinstance(trait, kinds)]

    def code(self, kind: str = "code") -> str:
        """Write code for what is shown now.

        Parameters
        ----------
        kind : {"code", "question"}
            Code that makes this widget, or a `Question` of a survey with the same epsilon.

        Returns
        -------
        str
            Lines of Python.
        """
        choice(kind, "kind", tuple(self.codes))
        code: str = self.codes[kind]
        return code.format(**{name: json.dumps(getattr(self, name)) for name in self.settings()})

    def truth(self) -> tuple[float, str]:
        """Compute the number that a guess is compared with.

        Returns
        -------
        tuple of float and str
            The number, and how the sentences write it.
        """
        raise NotImplementedError

    def verdict(self) -> str:
        """Compare what was guessed with what it is.

        Returns
        -------
        str
            A sentence; empty if nothing was guessed.
        """
        if self.asks is None or self.prediction is None:
            return ""
        guess = figure(self.prediction, 3).rstrip("0").rstrip(".")  # as somebody typed it
        return VERDICT.format(guess=guess, unit=self.asks.unit, truth=self.truth()[1])

    def _send_picture(self, _widget: object, content: object, _buffers: object) -> None:
        """Draw the setting that the browser shows, which Python may not have heard of yet, and send it."""
        if not isinstance(content, dict) or content.get("kind") != "picture":
            return
        setting = content.get("setting") or {}
        for name in set(self.settings()) & set(setting):
            setattr(self, name, setting[name])
        self.send({"kind": "picture", "name": f"{self.maker or 'picture'}.png"}, [png(self.picture())])

    def setting(self) -> str:
        """Describe what is set now in a few words.

        Returns
        -------
        str
            The words, the same each time: the repr of the widget has them.
        """
        raise NotImplementedError

    def describe(self) -> dict[str, str]:
        """Write the sentences that are shown now.

        Returns
        -------
        dict of str to str
            The sentences, by their subject.
        """
        raise NotImplementedError

    def picture(self) -> Figure:
        """Draw what is shown now as a still picture, for readers without a kernel.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.
        """
        raise NotImplementedError

    def _board(
        self, height: float, setting: str, rows: Any, ratios: list[float], **titles: str
    ) -> tuple[Figure, dict[str, Axes]]:
        """A still picture with the parts that `rows` name, and titles of some of them."""
        canvas = still(height, setting)
        parts = canvas.subplot_mosaic(rows, height_ratios=ratios)
        for name, title in titles.items():
            parts[name].set_title(title, loc="left", fontsize=11)
        return canvas, parts

    def _write(self, parts: Mapping[str, Axes], width: int = 52, **places: Sequence[str]) -> None:
        """Write sentences, by name: below the icons of people, or in parts that hold nothing else."""
        sentences = self.describe()
        for part, names in places.items():
            if part != "people":
                parts[part].axis("off")
            say(parts[part], 5.3 if part == "people" else 1, *(sentences[name] for name in names), width=width)

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
    """A number between two ends, synced; refused with a reason where it is not. `strict`: the ends are out, too."""

    def __init__(self, least: float, most: float, consequence: str, *, strict: bool = False) -> None:
        super().__init__((least + most) / 2 if strict else least)
        self.least, self.most, self.consequence, self.strict = least, most, consequence, strict
        self.tag(sync=True)

    def validate(self, obj: object, value: object) -> float:
        number = float(super().validate(obj, value))
        exact(number, str(self.name))  # refuses what is not finite
        inside = self.least < number < self.most if self.strict else self.least <= number <= self.most
        if not inside:
            rule = f"`{self.name}` must lie {'strictly ' if self.strict else ''}between {self.least} and {self.most}"
            reject(rule, number, self.consequence)
        return number


class Whole(traitlets.Int[int, int]):
    """A whole number of at least `least`, synced."""

    def __init__(self, least: int = 1, most: int = 10**9) -> None:
        super().__init__(least)
        self.least, self.most = least, most
        self.tag(sync=True)

    def validate(self, obj: object, value: object) -> int:
        number = whole(super().validate(obj, value), str(self.name), least=self.least)
        if number > self.most:
            reject(f"`{self.name}` must be at most {self.most:,}", number, "nothing is computed beyond it")
        return number


class OneOf(traitlets.Unicode[str, str | bytes]):
    def __init__(self, *allowed: str) -> None:
        super().__init__(allowed[0])
        self.allowed = allowed
        self.tag(sync=True)

    def validate(self, obj: object, value: object) -> str:
        return choice(super().validate(obj, value), str(self.name), self.allowed)
