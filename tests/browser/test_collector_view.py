"""The link of a collection can be read by a camera, in every theme: what is painted is the QR code, module by
module.
"""

import io

import pytest
import segno
from PIL import Image

from toolkit.show import CollectorView
from toolkit.survey.sharing import qr_path

LINK = "http://127.0.0.1:46205/"


@pytest.mark.browser
@pytest.mark.parametrize("ground", ["#fff", "#111"])
def test_the_painted_code_is_the_link_dark_on_white_whatever_lies_behind(page, ground):
    code = qr_path(LINK)
    size = code["size"]
    tab = page.context.new_page()
    tab.set_content(
        f"<style>{CollectorView._css} body {{ background: {ground} }}</style><div class='toolkit-explorer'>"
        f"<svg class='qr' viewBox='0 0 {size} {size}'><rect class='paper' width='{size}' height='{size}'/>"
        f"<path class='print' d='{code['path']}'/></svg></div>"
    )
    picture = Image.open(io.BytesIO(tab.locator(".qr").screenshot())).convert("L")
    tab.close()
    unit = picture.width / size
    seen = [
        [picture.getpixel((int((x + 0.5) * unit), int((y + 0.5) * unit))) < 128 for x in range(size)]
        for y in range(size)
    ]
    modules = [[bool(module) for module in row] for row in segno.make(LINK, error="m", micro=False).matrix]
    assert [row[4:-4] for row in seen[4:-4]] == modules
    assert not any(any(row) for row in seen[:4] + seen[-4:])
