"""A fresh clone, as JupyterLab shows it before anything is run or trusted: every picture is there, with its words."""

import pytest

pytestmark = pytest.mark.browser

CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(({ model }) => ({
  trusted: model.trusted === true,
  pictures: (model.outputs ? model.outputs.toJSON() : []).filter((output) => output.data && output.data["image/png"]).length,
}))"""  # noqa: E501
SHOW = "(place) => window.jupyterapp.shell.currentWidget.content.scrollToItem(place)"
IMAGES = """(place) => Array.from(
  window.jupyterapp.shell.currentWidget.content.widgets[place].node.querySelectorAll(".jp-OutputArea img"),
  (image) => ({ alt: image.alt, width: image.complete ? image.naturalWidth && image.clientWidth : 0 }),
)"""


@pytest.mark.parametrize("name", ["05_choosing_a_budget", "08_collecting_answers"])
def test_an_untrusted_notebook_shows_pictures_with_alternative_text(lab, page, name):
    """An untrusted notebook shows a picture with words for every figure and widget."""
    lab.open(page, f"notebooks/{name}.ipynb")
    cells = page.evaluate(CELLS)
    assert not any(cell["trusted"] for cell in cells)
    assert sum(cell["pictures"] for cell in cells) >= 3
    for place, cell in enumerate(cells):
        if cell["pictures"]:
            page.evaluate(SHOW, place)
            page.wait_for_function(
                f"place => ({IMAGES})(place).length && ({IMAGES})(place).every(({{ width }}) => width > 200)", arg=place
            )
            shown = page.evaluate(IMAGES, place)
            assert len(shown) == cell["pictures"]
            assert all(len(image["alt"]) > 20 for image in shown)
