import re

import segno

from toolkit.survey.client import qr_path, qr_text

LINK = "https://survey.example/"


def test_the_path_has_a_square_for_every_dark_module_inside_a_white_edge():
    code, drawn = segno.make(LINK, error="m", micro=False), qr_path(LINK)
    dark = {(x + 4, y + 4) for y, row in enumerate(code.matrix) for x, module in enumerate(row) if module}
    assert {(int(x), int(y)) for x, y in re.findall(r"M(\d+),(\d+)h1v1h-1z", drawn["path"])} == dark
    assert drawn["size"] == len(code.matrix) + 8


def test_a_terminal_gets_lines_of_equal_length():
    lines = qr_text(LINK).splitlines()
    assert len(lines) > 10
    assert len({*map(len, lines)}) == 1
