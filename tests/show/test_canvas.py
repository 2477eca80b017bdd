import base64
import io
import subprocess
import sys

import pytest
from PIL import Image

from toolkit import show, warner
from toolkit.show import canvas

DESIGN = warner(p="2/3")


@pytest.mark.slow
def test_a_picture_displays_as_a_sharp_png_of_its_nominal_size_with_words_beside_it():
    data, metadata = show.design_matrix(DESIGN)._repr_mimebundle_()
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width == pytest.approx(2 * metadata["image/png"]["width"], abs=2)
    assert data["text/plain"].startswith("<Picture: warner design: truth no is reported no 66.7 %")
    assert data["text/html"].startswith('<img alt="warner design: truth no is reported no 66.7 %')
    assert f"base64,{data['image/png']}" in data["text/html"]


@pytest.mark.slow
def test_the_words_of_a_picture_are_words_whatever_they_hold():
    ax = canvas.finish(canvas.axes(None), "title", '"><script>alert(1)</script>')
    assert "<script" not in ax._repr_mimebundle_()[0]["text/html"]


@pytest.mark.slow
def test_a_picture_is_the_same_bytes_each_time_and_carries_no_date_or_version():
    first, second = (show.posterior(DESIGN, prior=0.1)._repr_mimebundle_()[0]["image/png"] for _ in range(2))
    assert first == second
    assert Image.open(io.BytesIO(base64.b64decode(first))).info.keys() <= {"dpi", "transparency"}


@pytest.mark.slow
def test_a_figure_drawn_anew_is_the_same_bytes_though_the_solver_of_the_layout_rounds_differently_each_time():
    pictures = {show.explore_mechanism("analytic", epsilon=0.1)._repr_mimebundle_()[0]["image/png"] for _ in range(6)}
    assert len(pictures) == 1


@pytest.mark.slow
def test_a_picture_that_was_shown_is_still_laid_out_when_it_grows_a_title():
    ax = show.design_matrix(DESIGN)
    canvas.png(ax.get_figure())
    before = ax.get_position().y1
    ax.set_title("three\nmore\nlines")
    canvas.png(ax.get_figure())
    assert ax.get_position().y1 < before - 0.05


@pytest.mark.slow
def test_pictures_do_not_import_pyplot():
    """Nothing stays open, no backend is chosen for the reader, and MPLBACKEND does not matter."""
    code = "import sys; from toolkit import show; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_percent_drops_idle_zeros_only():
    assert [canvas.percent(x, 1) for x in (0, 0.1, 0.125, 1)] == ["0 %", "10 %", "12.5 %", "100 %"]
    assert [canvas.percent(x) for x in (0.1, 1)] == ["10 %", "100 %"]
