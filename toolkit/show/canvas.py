"""What all figures share: axes that a notebook shows when they are a cell's last expression, colours, ticks, curves.

No pyplot: nothing is kept open behind the reader's back, no backend has to be chosen, and threads do not
meet.
"""

import base64
import html
import inspect
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from PIL import Image

from toolkit.core.arrays import Array

# Okabe and Ito's palette: told apart by people of every colour vision, and by their lightness in grey.
BLUE, SKY, ORANGE, VERMILLION, GREY, INK = "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#767676", "#222222"

# In a dark theme light and dark change places and hues stay. What is stored has one picture for all themes.
_DARK = '<style>[data-jp-theme-light="false"] .toolkit-figure {filter: invert(0.9) hue-rotate(180deg)}</style>'
_DPI = 96
_SHARPNESS = 2  # image pixels for each pixel of the page, for screens that have them
_AX = """\
ax : matplotlib.axes.Axes, optional
    Axes to draw on; without them a new picture is made.

Returns
-------
matplotlib.axes.Axes
    The axes that were drawn on; a notebook shows a new picture by itself."""

Drawing = TypeVar("Drawing", bound=Callable[..., Axes])


def draws(function: Drawing) -> Drawing:
    """Add to the docstring of a figure what all figures share: the parameter `ax`, and what is returned."""
    before, examples, after = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
    function.__doc__ = f"{before}\n{_AX}{examples}{after}"
    return function


class Picture(Axes):
    """Axes that display as their figure. `alt` says what there is to see, where no picture can be shown."""

    alt = "a picture"

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        figure = self.get_figure(root=True)
        return png_bundle(figure, repr(self), self.alt) if figure else ({"text/plain": repr(self)}, {})

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"


def axes(ax: Axes | None, *, width: float = 6.4, height: float = 3.6) -> Axes:
    """The axes of the caller, or those of a new picture of this many inches."""
    return new_figure(width=width, height=height).add_subplot(axes_class=Picture) if ax is None else ax


def new_figure(*, width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")


def finish(ax: Axes, title: str, alt: str) -> Axes:
    """Title on the left, no frame that carries no information, and the words for those who cannot see."""
    ax.set_title(title, loc="left", fontsize=11, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    if isinstance(ax, Picture):
        ax.alt = alt
    return ax


def png_bundle(figure: Figure, text: str, alt: str) -> tuple[dict[str, str], dict[str, Any]]:
    """MIME data and metadata of a figure: a sharp PNG shown at its nominal size, what it shows in words, and a text.
    The picture is there twice: JupyterLab gives an "image/png" no words for those who do not see it, and prefers
    HTML, which has them; printers and other readers take the "image/png".
    """
    width, height = (round(inches * _DPI) for inches in figure.get_size_inches())
    bits = base64.b64encode(png(figure)).decode()
    tag = (
        f'<img alt="{html.escape(alt)}" width="{width}" height="{height}" '
        f'src="data:image/png;base64,{bits}" class="toolkit-figure">{_DARK}'
    )
    metadata = {"image/png": {"width": width, "height": height}}
    return {"text/html": tag, "image/png": bits, "text/plain": text}, metadata


def png(figure: Figure) -> bytes:
    """A figure as PNG with a palette: a quarter of the bytes in saved notebooks, and no date or version."""
    canvas: Any = FigureCanvasAgg(figure)  # of which matplotlib tells no types
    packed = io.BytesIO()
    with _fixed_layout(figure):
        canvas.draw()  # once; saving would lay out, draw and pack it a second time
        size = canvas.get_width_height(physical=True)
    drawn = Image.frombuffer("RGBA", size, canvas.buffer_rgba(), "raw", "RGBA", 0, 1)
    picture = drawn.convert("RGB").quantize(colors=96, dither=Image.Dither.NONE)
    picture.save(packed, format="PNG", optimize=True)
    return packed.getvalue()


@contextmanager
def _fixed_layout(figure: Figure) -> Iterator[None]:
    """Laid out, with rounded places: the last digits of the solver differ from run to run, and pixels would, too."""
    engine, dpi = figure.get_layout_engine(), figure.dpi
    figure.set_dpi(_DPI * _SHARPNESS)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ax in figure.axes:
        left, bottom, width, height = (round(float(place), 9) for place in ax.get_position().bounds)
        ax.set_position((left, bottom, width, height))
        ax.set_in_layout(True)  # which a place set by hand would end
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.set_dpi(dpi)


def percent(share: float, decimals: int = 0) -> str:
    """A share in per cent, without idle zeros."""
    text = f"{100 * share:.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def percent_ticks(ax: Axes, which: str = "xy") -> None:
    """Ticks in per cent, with the decimal that a tick at 2.5 % needs: rounded, it would stand in the wrong place."""
    for name in which:
        axis = ax.xaxis if name == "x" else ax.yaxis
        axis.set_major_formatter(FuncFormatter(lambda share, _: percent(share, 1)))


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def named_curves(
    ax: Axes, points: Mapping[str, Any], looks: Sequence[tuple[str, str, str]], size: float = 5
) -> Iterator[tuple[str, Array, Array]]:
    """Draw the points of each name as a line of its own look; their name and their sorted coordinates."""
    for (name, pairs), (colour, dash, mark) in zip(points.items(), cycle(looks)):
        x, y = np.array(sorted(pairs), dtype=float).T
        ax.plot(x, y, color=colour, linestyle=dash, marker=mark, markersize=size, linewidth=2, label=name)
        yield name, x, y
