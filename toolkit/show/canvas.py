"""Helpers for all figures: axes that display in a notebook, colors, ticks and curves.

Figures are made without pyplot. Therefore no figure stays open, no backend has to be chosen, and threads share no
state.
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

# The palette of Okabe and Ito, whose colors remain distinguishable with color blindness and in grayscale.
BLUE, SKY, ORANGE, VERMILLION, GREY, INK = "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#767676", "#222222"

# A dark theme inverts the lightness and preserves hues, so that a saved notebook needs only one image for all themes.
# Without more brightness orange would turn brown.
_FILTER = "invert(0.9) hue-rotate(180deg) brightness(1.3)"
_DARK = f'<style>[data-jp-theme-light="false"] .toolkit-figure {{filter: {_FILTER}}}</style>'
_DPI = 96
_PIXEL_RATIO = 2  # image pixels per CSS pixel, for high-resolution screens
_AX = """\
ax : matplotlib.axes.Axes, optional
    Axes to draw on; if None, a new figure is made.

Returns
-------
matplotlib.axes.Axes
    The axes with the figure; a notebook displays a new figure."""

Drawing = TypeVar("Drawing", bound=Callable[..., Axes])


def document_figure(function: Drawing) -> Drawing:
    """Add the parameter `ax` and the return value, which all figures share, to the docstring of a function."""
    before, examples, after = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
    function.__doc__ = f"{before}\n{_AX}{examples}{after}"
    return function


class Picture(Axes):
    """Axes that a notebook displays as their figure; `alt` is the alternative text of the figure."""

    alt = "a picture"

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        figure = self.get_figure(root=True)
        return png_bundle(figure, repr(self), self.alt) if figure else ({"text/plain": repr(self)}, {})

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"


def axes(ax: Axes | None, *, width: float = 6.4, height: float = 3.6) -> Axes:
    """Return the given axes, or the axes of a new figure of this size in inches."""
    return new_figure(width=width, height=height).add_subplot(axes_class=Picture) if ax is None else ax


def new_figure(*, width: float, height: float) -> Figure:
    """Return a new figure of this size in inches, made without pyplot."""
    return Figure(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")


def finish(ax: Axes, title: str, alt: str) -> Axes:
    """Set the title, remove the frame at the top and on the right, and store the alternative text."""
    ax.set_title(title, loc="left", fontsize=11, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    if isinstance(ax, Picture):
        ax.alt = alt
    return ax


def png_bundle(figure: Figure, text: str, alt: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the MIME data and metadata of a figure: a PNG at its nominal size, its alternative text, and plain text.

    The image is included twice. JupyterLab prefers the HTML, which has the alternative text that an "image/png" lacks;
    exporters and other viewers use the "image/png".
    """
    width, height = (round(inches * _DPI) for inches in figure.get_size_inches())
    encoded = base64.b64encode(png(figure)).decode()
    tag = (
        f'<img alt="{html.escape(alt)}" width="{width}" height="{height}" '
        f'src="data:image/png;base64,{encoded}" class="toolkit-figure">{_DARK}'
    )
    metadata = {"image/png": {"width": width, "height": height}}
    return {"text/html": tag, "image/png": encoded, "text/plain": text}, metadata


def png(figure: Figure) -> bytes:
    """Return a figure as PNG without date or version; a palette reduces its size to a quarter."""
    canvas: Any = FigureCanvasAgg(figure)  # matplotlib has no types for its buffer
    output = io.BytesIO()
    with _fixed_layout(figure):
        # `savefig` of matplotlib would lay out, draw and compress the figure a second time.
        canvas.draw()
        size = canvas.get_width_height(physical=True)
    rendered = Image.frombuffer("RGBA", size, canvas.buffer_rgba(), "raw", "RGBA", 0, 1)
    picture = rendered.convert("RGB").quantize(colors=96, dither=Image.Dither.NONE)
    picture.save(output, format="PNG", optimize=True)
    return output.getvalue()


@contextmanager
def _fixed_layout(figure: Figure) -> Iterator[None]:
    """Fix the layout of a figure at rounded positions, because the solver's last digits may differ between runs."""
    engine, dpi = figure.get_layout_engine(), figure.dpi
    figure.set_dpi(_DPI * _PIXEL_RATIO)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ax in figure.axes:
        x, y, width, height = (round(float(bound), 9) for bound in ax.get_position().bounds)
        ax.set_position((x, y, width, height))
        ax.set_in_layout(True)  # setting a position excludes the axes from the layout
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.set_dpi(dpi)


def percent(share: float, decimals: int = 0) -> str:
    """Format a share as a percentage without trailing zeros."""
    text = f"{100 * share:.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def percent_ticks(ax: Axes, axis_names: str = "xy") -> None:
    """Label ticks in percent, with one decimal if needed, so that a tick at 2.5 % is not labeled 2 %."""
    for name in axis_names:
        axis = ax.xaxis if name == "x" else ax.yaxis
        axis.set_major_formatter(FuncFormatter(lambda share, _: percent(share, 1)))


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Label the rows of a figure from top to bottom."""
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def draw_curves(
    ax: Axes, points: Mapping[str, Any], styles: Sequence[tuple[str, str, str]], marker_size: float = 5
) -> Iterator[tuple[str, Array, Array]]:
    """Draw a line through the sorted points of each name, and yield each name with its coordinates."""
    for (name, pairs), (colour, dash, marker) in zip(points.items(), cycle(styles)):
        x, y = np.array(sorted(pairs), dtype=float).T
        ax.plot(x, y, color=colour, linestyle=dash, marker=marker, markersize=marker_size, linewidth=2, label=name)
        yield name, x, y
