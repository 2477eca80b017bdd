"""What a notebook without solutions has: all cells but these, and empty functions."""

from tests.teaching.test_copies import FOLDER
from toolkit.teaching.student_cells import exercises_in, new_cell, seal_cells, seal_page, student_cells


def made():
    """Cells of each kind, with outputs."""
    sources = {
        "prose": "Prose.",
        "yours": "def my_limit(before, after):\n    return after / before",
        "uses": "x = my_limit(1, 2)",
        "later": "x + 1",
        "answer": 'answer = ...\ncheck("05.1", answer)',
        "solved": "<details>The answer is 3.</details>",
        "solution": "assert x == 3",
    }
    cells = [
        new_cell(name, text, "markdown" if name in ("prose", "solved") else "code") for name, text in sources.items()
    ]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream"}]
        if cell["id"] in ("yours", "answer", "solution"):
            cell["metadata"]["tags"] = [cell["id"]]
    return cells


def test_sealed_cells_keep_outputs_and_student_cells_do_not():
    sealed = seal_cells(made())
    assert [cell["id"] for cell in sealed] == ["prose", "yours", "uses", "later", "answer"]
    assert "".join(sealed[1]["source"]).endswith('raise NotImplementedError("my_limit: your lines go here")')
    assert [cell["metadata"].get("tags") for cell in sealed[2:4]] == [["raises-exception"]] * 2
    assert all(cell["outputs"] for cell in sealed[1:])
    student = student_cells(made())
    assert [cell["id"] for cell in student[5:]] == ["left-intro", "left"]
    assert all(not cell["outputs"] for cell in student if cell["cell_type"] == "code")
    assert exercises_in(student[4]) == ["05.1"]


def test_a_copy_of_a_sealed_notebook_is_that_of_the_notebook():
    """A wheel has sealed notebooks, from which it makes copies for students."""
    assert student_cells(seal_cells(made())) == student_cells(made())


def test_pages_lose_their_answer_keys():
    assert seal_page("# A\n\n## The answer key (for teachers)\n3\n</details>\n\nMore.") == "# A\n\n\nMore."
    project = (FOLDER / "teaching" / "PROJECT.md").read_text(encoding="utf-8")
    assert "4,116" in project
    assert "4,116" not in seal_page(project)
