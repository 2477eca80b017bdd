"""The base class of all widgets: the browser draws a table that Python computed, and each widget has a still figure."""

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

from toolkit.core.checks import check_choice, check_integer, exact_fraction, reject
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION, new_figure, png, png_bundle
from toolkit.texts.figures import format_number

VERDICT = "You guessed {guess} {unit}; at this setting it is {truth}."
QUESTION = """\
from toolkit import Question, warner
Question("name", "Have you ever …?", design=warner(epsilon={epsilon}))"""
"""The code of a question with Warner's design, for explorers whose epsilon belongs to one answer."""

Factory = TypeVar("Factory", bound=Callable[..., anywidget.AnyWidget])


@dataclass(frozen=True)
class PredictionQuestion:
    """A question about the current setting that the user is asked to predict, with the unit of the answer."""

    question: str
    unit: str


def document_widget(widget: type[anywidget.AnyWidget]) -> Callable[[Factory], Factory]:
    """Add the parameters of a widget's class and the return value to the docstring of a function that makes it."""
    parameters = inspect.cleandoc(widget.__doc__ or "").partition("Parameters\n")[2].partition("\n\n")[0]

    def document(function: Factory) -> Factory:
        summary, examples, code = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
        returns = f"Returns\n-------\n{widget.__name__}\n    The live widget, which a notebook shows."
        function.__doc__ = f"{summary}\n\nParameters\n{parameters}\n\n{returns}{examples}{code}"
        return function

    return document


def new_still_figure(height: float, setting: str, live_part: str = "sliders") -> Figure:
    """Return an empty still figure, whose title names the setting and the features that only the live widget has."""
    canvas = new_figure(width=8.2, height=height)
    canvas.suptitle(f"{setting}; run the cell for the {live_part}", x=0.01, ha="left", fontsize=10, color=GREY)
    return canvas


def draw_bars(
    ax: Axes, sizes: Mapping[str, float], colours: object, decimals: int | None, gap: float, x_max: float
) -> None:
    """Draw a bar for each name, with its number at a distance of `gap` from its end, on an axis from 0 to `x_max`."""
    ax.barh(range(len(sizes)), list(sizes.values()), color=colours, height=0.6)
    for row, size in enumerate(sizes.values()):
        ax.text(size + gap, row, format_number(size, decimals), va="center", fontsize=9, color=INK)
    ax.set_yticks(range(len(sizes)), list(sizes))
    ax.set(ylim=(len(sizes) - 0.5, -0.5), xlim=(0, x_max), xticks=[])
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def draw_icons(ax: Axes, n_filled: int) -> None:
    """Draw a hundred people in five rows of twenty, the first `n_filled` filled, with space for text below."""
    x, y = [i % 20 for i in range(100)], [i // 20 for i in range(100)]
    hollow: dict[str, Any] = {
        "markeredgecolor": VERMILLION,
        "markerfacecolor": "none",
        "markeredgewidth": 1.6,
        "markersize": 7.5,
    }
    ax.plot(x[:n_filled], y[:n_filled], "o", color=BLUE, markersize=8)
    ax.plot(x[n_filled:], y[n_filled:], "o", **hollow)
    hide_axis(ax)


def hide_axis(ax: Axes) -> None:
    """Hide the axes, and set their limits to fit a hundred people at the top and text below."""
    ax.set(xlim=(-0.6, 20), ylim=(17, -0.7), xticks=[], yticks=[], aspect="equal", anchor="NW")
    ax.spines[:].set_visible(False)


def write_sentences(ax: Axes, top: float, *sentences: str, width: int = 52) -> None:
    """Write sentences as left-aligned paragraphs, in lines of at most `width` characters."""
    text = "\n\n".join(textwrap.fill(sentence, width) for sentence in sentences)
    ax.text(ax.get_xlim()[0], top, text, va="top", fontsize=9.5, color=INK)


_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


def bundle_module(path: Path) -> str:
    """Return the code of an ES module and of all modules that it imports, as one scope without imports."""
    return "\n".join(_modules_in_order(path.resolve(), []).values())


def exported_names(code: str) -> set[str]:
    """Return the names that a module exports."""
    return set(_EXPORT.findall(code))


def imported_names(code: str) -> dict[str, set[str]]:
    """Return the imported names by the path of the module that exports them."""
    return {source: set(re.findall(r"\w+", names)) for names, source in _IMPORT.findall(code)}


def _modules_in_order(path: Path, importers: list[Path]) -> dict[Path, str]:
    """Return the code of a module and of its imports by path; each module follows the modules that it imports."""
    if path in importers:
        raise RuntimeError(f"{path.name} imports itself through {importers[-1].name}")
    code = path.read_text(encoding="utf-8")
    modules: dict[Path, str] = {}
    for source, names in imported_names(code).items():
        imported_path = (path.parent / source).resolve()
        missing = names - exported_names(imported_path.read_text(encoding="utf-8"))
        if missing:
            raise RuntimeError(
                f"{path.name} imports {', '.join(sorted(missing))}, which {imported_path.name} does not export"
            )
        modules |= {
            key: text
            for key, text in _modules_in_order(imported_path, [*importers, path]).items()
            if key not in modules
        }
    return modules | {path: _IMPORT.sub("", code)}


STATIC = Path(__file__).parent / "static"


def browser_code(path: str | Path) -> str:
    """Return the ES module of a widget with its imports; a relative path refers to `static`."""
    return bundle_module(STATIC / path)


def browser_style(name: str) -> str:
    """Return the CSS of a widget: the common theme, then the file of the widget."""
    return "\n".join((STATIC / file).read_text(encoding="utf-8") for file in ("theme.css", name))


class Explorer(anywidget.AnyWidget):
    """A widget that answers one question while sliders move; the toolkit computes and the browser draws.

    A subclass sets `_esm = browser_code("its_name.js")`, defines synced traits (`BoundedFloat`, `BoundedInt`,
    `TextChoice`) and overrides `setting_text`, `describe` and `picture`. It fills `table` once; `row` is for settings
    that the user types and that are not in the table. `table` and `row` are sent to the browser, so they contain only
    plain numbers, texts, lists and dicts.

    With `guess=True` the live widget asks for a prediction before it shows the answer, and then draws both;
    `prediction` is the user's prediction. The still figure of a saved notebook always shows the answer. A class with
    a `prediction_question` overrides `right_answer`, the number to predict. `function_name` is the function of
    `toolkit.teaching.explorers` that makes the widget, for the code that users can copy.
    """

    _css = browser_style("kit.css")

    prediction_question: ClassVar[PredictionQuestion | None] = None
    function_name: ClassVar[str] = ""
    question_code: ClassVar[str] = ""

    table = traitlets.Dict().tag(sync=True)
    row = traitlets.Dict().tag(sync=True)
    guess = traitlets.Bool(default_value=False).tag(sync=True)
    prediction = traitlets.Float(default_value=None, allow_none=True).tag(sync=True)
    prompt = traitlets.Dict(read_only=True).tag(sync=True)
    codes = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.on_msg(self._send_picture)

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the overriding methods the docstrings of this class."""
        super().__init_subclass__(**options)
        for name in ("truth", "setting_text", "describe", "picture"):
            if name in vars(cls):
                getattr(cls, name).__doc__ = getattr(Explorer, name).__doc__

    @traitlets.default("prompt")
    def _default_prompt(self) -> dict[str, str]:
        return (
            {"question": self.prediction_question.question, "unit": self.prediction_question.unit, "verdict": VERDICT}
            if self.prediction_question
            else {}
        )

    @traitlets.default("codes")
    def _default_codes(self) -> dict[str, str]:
        arguments = ", ".join(f"{name}={{{name}}}" for name in self.setting_names())
        code = (
            self.function_name
            and f"from toolkit.teaching import explorers\nexplorers.{self.function_name}({arguments})"
        )
        return {kind: text for kind, text in {"code": code, "question": self.question_code}.items() if text}

    @traitlets.validate("guess")
    def _validate_guess(self, proposal: Any) -> bool:
        if proposal["value"] and self.prediction_question is None:
            reject("`guess` must be False for a widget without a question", True, "this widget has nothing to predict")
        return bool(proposal["value"])

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names of the settings.

        Returns
        -------
        list of str
            The names, which are also the parameters of the function that makes the widget.
        """
        kinds = BoundedFloat, BoundedInt, TextChoice
        return [name for name, trait in cls.class_traits().items() if isinstance(trait, kinds)]

    def code(self, kind: str = "code") -> str:
        """Write code for the current setting.

        Parameters
        ----------
        kind : {"code", "question"}
            Code that makes this widget, or a `Question` of a survey with the same epsilon.

        Returns
        -------
        str
            Lines of Python.
        """
        check_choice(kind, "kind", tuple(self.codes))
        code: str = self.codes[kind]
        return code.format(**{name: json.dumps(getattr(self, name)) for name in self.setting_names()})

    def right_answer(self) -> tuple[float, str]:
        """Compute the number that the user is asked to predict.

        Returns
        -------
        tuple of float and str
            The number, and its text in sentences.
        """
        raise NotImplementedError

    def verdict(self) -> str:
        """Compare the prediction with the truth.

        Returns
        -------
        str
            A sentence; empty if there is no prediction.
        """
        if self.prediction_question is None or self.prediction is None:
            return ""
        guess = format_number(self.prediction, 3).rstrip("0").rstrip(".")  # without trailing zeros, as typed
        return VERDICT.format(guess=guess, unit=self.prediction_question.unit, truth=self.right_answer()[1])

    def _send_picture(self, _widget: object, content: object, _buffers: object) -> None:
        """Draw the picture for the setting in the message, which may be newer than the synced setting, and send it."""
        if not isinstance(content, dict) or content.get("kind") != "picture":
            return
        setting = content.get("setting") or {}
        for name in set(self.setting_names()) & set(setting):
            setattr(self, name, setting[name])
        self.send({"kind": "picture", "name": f"{self.function_name or 'picture'}.png"}, [png(self.picture())])

    def setting_text(self) -> str:
        """Describe the current setting in a few words.

        Returns
        -------
        str
            The description, which is also in the repr of the widget.
        """
        raise NotImplementedError

    def describe(self) -> dict[str, str]:
        """Write the sentences for the current setting.

        Returns
        -------
        dict of str to str
            The sentences, by their subject.
        """
        raise NotImplementedError

    def picture(self) -> Figure:
        """Draw the current setting as a still figure, for readers without a kernel.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        raise NotImplementedError

    def _new_panels(
        self, height: float, setting: str, rows: Any, ratios: list[float], **titles: str
    ) -> tuple[Figure, dict[str, Axes]]:
        """Return a still figure with panels named by `rows`, some of them with titles."""
        canvas = new_still_figure(height, setting)
        panels = canvas.subplot_mosaic(rows, height_ratios=ratios)
        for name, title in titles.items():
            panels[name].set_title(title, loc="left", fontsize=11)
        return canvas, panels

    def _write_sentences(
        self, panels: Mapping[str, Axes], width: int = 52, **sentences_by_panel: Sequence[str]
    ) -> None:
        """Write the sentences of each panel, below the icons of people or in separate panels."""
        sentences = self.describe()
        for panel, names in sentences_by_panel.items():
            if panel != "people":
                panels[panel].axis("off")
            write_sentences(
                panels[panel], 5.3 if panel == "people" else 1, *(sentences[name] for name in names), width=width
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.setting_text()}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the live widget, and a still figure for viewers that cannot run it."""
        live = super()._repr_mimebundle_(**kwargs)
        if live is None:
            return None
        picture, metadata = png_bundle(self.picture(), repr(self), " ".join(filter(None, self.describe().values())))
        return {**live[0], **picture}, {**live[1], **metadata}


class BoundedFloat(traitlets.Float[float, float]):
    """A synced number between two limits; with `strict`, the limits themselves are excluded."""

    def __init__(self, low: float, high: float, consequence: str, *, strict: bool = False) -> None:
        super().__init__((low + high) / 2 if strict else low)
        self.low, self.high, self.consequence, self.strict = low, high, consequence, strict
        self.tag(sync=True)

    def validate(self, obj: object, value: object) -> float:
        number = float(super().validate(obj, value))
        exact_fraction(number, str(self.name))  # rejects infinity and NaN
        inside = self.low < number < self.high if self.strict else self.low <= number <= self.high
        if not inside:
            rule = f"`{self.name}` must lie {'strictly ' if self.strict else ''}between {self.low} and {self.high}"
            reject(rule, number, self.consequence)
        return number


class BoundedInt(traitlets.Int[int, int]):
    """A synced integer from `low` to `high`."""

    def __init__(self, low: int = 1, high: int = 10**9) -> None:
        super().__init__(low)
        self.low, self.high = low, high
        self.tag(sync=True)

    def validate(self, obj: object, value: object) -> int:
        number = check_integer(super().validate(obj, value), str(self.name), minimum=self.low)
        if number > self.high:
            reject(f"`{self.name}` must be at most {self.high:,}", number, "nothing is computed for larger values")
        return number


class TextChoice(traitlets.Unicode[str, str | bytes]):
    """A synced text that must be one of the allowed texts."""

    def __init__(self, *allowed: str) -> None:
        super().__init__(allowed[0])
        self.allowed = allowed
        self.tag(sync=True)

    def validate(self, obj: object, value: object) -> str:
        return check_choice(super().validate(obj, value), str(self.name), self.allowed)
