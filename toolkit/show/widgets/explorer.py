"""What all explorers share: a table that Python computes and sends once, code that draws it in the browser, a
still picture.
"""

from pathlib import Path
from typing import Any

import anywidget
import traitlets
from matplotlib.figure import Figure

from toolkit.core.checks import choice, exact, refuse, whole
from toolkit.show.canvas import png_bundle
from toolkit.show.modules import joined

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
    """

    _css = browser_style("kit.css")

    table = traitlets.Dict().tag(sync=True)
    row = traitlets.Dict().tag(sync=True)

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
        picture, metadata = png_bundle(
            self.picture(), repr(self), " ".join(filter(None, self.describe().values()))
        )
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
            rule = (
                f"`{self.name}` must lie {'strictly ' if self.strict else ''}between {self.least} and "
                f"{self.most}"
            )
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
