"""Rules for the form of notebooks, and checks that their saved outputs are real. nbval compares the contents of the
outputs.
"""

import ast
import copy
import csv
import functools
import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

from freeze import KERNEL, WIDGET, freeze
from reference import PUBLIC_MODULES
from toolkit.core import extras
from toolkit.survey.serving.background import list_servers

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
KEY = tomllib.loads((FOLDER / "teaching" / "answers.toml").read_text(encoding="utf-8"))
BITS = re.compile(r"iVBORw0KGgo[A-Za-z0-9+/=]+")  # of a PNG
MACHINE = re.compile(r"0x[0-9a-f]{6,}|/(?:home|root|tmp|Users|work)/|ipykernel_|\b\d\d:\d\d:\d\d\b|model_id")


def pytest_generate_tests(metafunc):
    if "path" in metafunc.fixturenames:
        metafunc.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


@functools.cache
def book(path):
    """Return a notebook, which is read once for all tests; none of them changes it."""
    return nbformat.read(path, as_version=4)


@pytest.fixture
def cells(path):
    return book(path).cells


def code_of(cells):
    return [cell for cell in cells if cell.cell_type == "code"]


def lines_of(cell):
    return [line for line in cell.source.splitlines() if line.strip()]


def outputs_of(cells):
    return [output for cell in code_of(cells) for output in cell.outputs]


def bundles_of(cells):
    return [output.data for output in outputs_of(cells) if "data" in output]


def test_the_first_notebooks_exist_and_names_sort_them():
    names = [path.name for path in NOTEBOOKS]
    assert {"00_start_here.ipynb", "03_randomized_response.ipynb"} <= set(names)
    assert [name for name in names if not re.fullmatch(r"\d\d_[a-z_]+\.ipynb", name)] == []


def test_prose_and_code_alternate_strictly_from_prose_to_prose(cells):
    """A folded check may stand directly after the cell that it checks."""
    kinds = [
        cell.cell_type
        for before, cell in itertools.pairwise([None, *cells])
        if not (before and before.cell_type == "code" and "check" in cell.metadata.get("tags", []))
    ]
    assert kinds == ["markdown", "code"] * (len(kinds) // 2) + ["markdown"]


def test_a_reader_sees_one_assert_in_a_cell_and_it_says_what_it_claims(cells):
    for cell in code_of(cells):
        if not cell.metadata.get("tags"):
            asserts = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Assert)]
            assert len(asserts) <= 1, cell.id
            assert all(one.msg is not None for one in asserts), cell.id


def test_the_first_cell_has_the_title_and_says_what_you_will_do(cells):
    assert cells[0].source.startswith("# ")
    assert "**What you will do**" in cells[0].source


def test_code_cells_are_short_and_narrow(cells):
    """This does not apply to imports, which may have any length."""
    sizes = [len(lines_of(cell)) for cell in code_of(cells)[1:]]
    assert max(sizes) <= 12
    assert statistics.median(sizes) <= 6
    assert [line for cell in code_of(cells) for line in lines_of(cell) if len(line) > 88] == []


def test_code_prints_nothing_defines_nothing_and_imports_at_the_top_only(cells):
    for place, cell in enumerate(code_of(cells)):
        nodes = list(ast.walk(ast.parse(cell.source)))
        defined = any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda) for node in nodes)
        assert not defined or "yours" in cell.metadata.get("tags", [])
        assert not any(isinstance(node, ast.Name) and node.id == "print" for node in nodes)
        assert place == 0 or not any(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)


def test_a_student_s_function_is_short_and_compared_with_the_toolkit(cells):
    """A student writes one short function, which the next cell compares with the toolkit."""
    code = code_of(cells)
    for cell, after in itertools.pairwise(code):
        if "yours" in cell.metadata.get("tags", []):
            (function,) = ast.parse(cell.source).body
            assert isinstance(function, ast.FunctionDef)
            assert 3 <= len(lines_of(cell)) <= 8
            assert function.name in after.source
            assert "assert " in after.source


@pytest.mark.parametrize(
    "number", ["01", "02", "03", "04", "05", "06", "07", "09", "10", "11", "12", "13", "14", "15", "16"]
)
def test_in_the_notebooks_of_the_ideas_the_student_writes_one_down(number):
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    cells = book(path).cells
    assert any("yours" in cell.metadata.get("tags", []) for cell in cells)


def test_code_uses_public_names_of_the_toolkit_only(cells):
    modules = [
        node.module for node in ast.walk(ast.parse(code_of(cells)[0].source)) if isinstance(node, ast.ImportFrom)
    ]
    assert [module for module in modules if module.startswith("toolkit.") and module not in PUBLIC_MODULES] == []
    private = re.compile(r"(?<!\d)\._[a-z]")
    assert [cell.source for cell in code_of(cells) if private.search(cell.source)] == []


def test_every_random_draw_is_seeded(cells):
    for cell in code_of(cells):
        assert "default_rng()" not in cell.source
        for call in re.findall(r"randomize\((.*)\)", cell.source):
            assert "rng=" in call


def test_claims_are_checked_by_asserts(cells):
    assert sum("assert " in cell.source for cell in code_of(cells)) >= 3


def test_each_has_a_widget_whose_picture_remains_in_the_saved_file(cells):
    shown = [
        data for data in bundles_of(cells) if re.match(r"<\w+(Explorer|Game|Card|View)\b", data.get("text/plain", ""))
    ]
    assert shown
    assert all("image/png" in data for data in shown)


def test_each_widget_stands_under_a_question(cells):
    for before, cell in itertools.pairwise(cells):
        shown = [data["text/plain"] for data in bundles_of([cell]) if cell.cell_type == "code"]
        if any(re.match(r"<\w+(Explorer|Game|Card|View)\b", text) for text in shown):
            assert "?" in before.source, cell.id


def test_every_picture_has_words_for_those_who_do_not_see_it(cells):
    """JupyterLab shows the HTML of an output instead of its image, to which it would give no alternative text."""
    for data in bundles_of(cells):
        if "image/png" in data:
            image = r'<img alt="([^"]+)" width="\d+" height="\d+" src="data:image/png;base64,([^"]+)"'
            words, bits = re.match(image, data["text/html"]).groups()
            assert len(words) > 20
            assert bits == data["image/png"].strip()


def test_notebook_03_shows_pictures_a_table_and_the_explorer():
    """The notebook on randomized response shows pictures, a table and the explorer."""
    bundles = bundles_of(book(FOLDER / "03_randomized_response.ipynb").cells)
    assert sum("<Picture" in data["text/plain"] for data in bundles) >= 5
    assert sum("text/html" in data for data in bundles) >= 5


def test_pictures_in_prose_have_an_alternative_text(cells):
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert re.findall(r"!\[\s*\]\(", prose) == []
    assert "<img" not in prose


def test_no_line_of_prose_begins_as_a_comment_of_the_site(cells):
    """MyST omits lines that begin with a percent sign."""
    assert [cell.id for cell in cells if cell.cell_type == "markdown" and re.search(r"(?m)^\s*%", cell.source)] == []


def test_links_to_files_lead_somewhere(path, cells):
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", prose) if "://" not in target]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_it_ends_with_exercises_and_with_what_is_behind_it(cells):
    headings = [
        line
        for cell in cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("## ")
    ]
    assert headings[-2:] == ["## Exercises", "## Where this comes from"]
    assert cells[-1].source.startswith("## Where this comes from")


def test_every_exercise_has_a_cell_for_the_answer_and_a_check(path, cells):
    for place, cell in enumerate(cells):
        if "<details>" in cell.source:
            answer = cells[place - 1]
            (name,) = re.findall(r'check\("([\d.]+)", answer\)$', answer.source)
            assert name.startswith(path.stem[:2])
            assert name in KEY
            assert answer.metadata == {"tags": ["answer"]}
            assert answer.source.startswith("answer = ...  # ")
            assert "no answer yet" in answer.outputs[0].data["text/plain"]


def test_every_solution_is_folded_away_and_the_code_that_it_shows_is_run(cells):
    """The check that follows a solution starts with a comment, because a folded cell shows its first line."""
    solved = [place for place, cell in enumerate(cells) if "<details>" in cell.source]
    assert solved
    for place in solved:
        (shown,) = re.findall(
            r"<summary>Solution</summary>.*?```python\n(.*?)\n```\n\n</details>", cells[place].source, re.DOTALL
        )
        check = cells[place + 1]
        assert check.source == f"# The solution above, checked.\n{shown}"
        assert "assert " in shown
        assert check.metadata == {"jupyter": {"source_hidden": True}, "tags": ["solution"]}


def test_what_is_a_test_rather_than_a_lesson_is_folded_and_shows_nothing(cells):
    for cell in code_of(cells):
        if "check" in cell.metadata.get("tags", []):
            assert cell.metadata == {"jupyter": {"source_hidden": True}, "tags": ["check"]}
            assert cell.source.startswith("# Checked: ")
            assert "assert " in cell.source
            assert cell.outputs == []


def test_each_notebook_leads_to_the_next(path, cells):
    if path != NOTEBOOKS[-1]:
        assert re.search(r"\]\(\d\d_[a-z_]+\.ipynb\)", cells[-1].source)
        assert re.search(r"\b[Nn]ext\b", cells[-1].source)


def test_it_was_run_top_to_bottom_without_an_error_or_a_word_on_stderr(cells):
    assert [cell.execution_count for cell in code_of(cells)] == list(range(1, len(code_of(cells)) + 1))
    assert {output.output_type for output in outputs_of(cells)} <= {"execute_result", "display_data"}


def test_outputs_tell_nothing_of_the_machine_the_time_or_the_run(path, cells):
    for data in bundles_of(cells):
        assert "application/vnd.jupyter.widget-view+json" not in data
        assert [found for text in data.values() for found in MACHINE.findall(BITS.sub("", str(text)))] == []
    metadata = book(path).metadata
    assert set(metadata) == {"kernelspec", "language_info"}
    assert metadata.language_info == {"name": "python"}


def digits_of(number):
    """Return the number of significant digits of a number with a point or an exponent."""
    return len(re.sub(r"[eE].*", "", number).replace(",", "").replace(".", "").strip("-0"))


def test_outputs_have_no_digits_that_depend_on_the_processor(cells):
    """Numbers have about six significant digits, and none has more than seven; whole numbers are exact."""
    numbers = ("-0.00123", "22,026.47", "3.53e-12", "3519750.0")
    assert [digits_of(number) for number in numbers] == [3, 7, 3, 6]
    for data in bundles_of(cells):
        for text in data.values():
            words = BITS.sub("", str(text))
            numbers = re.findall(r"(?<![\w.#/])-?\d[\d,]*(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)", words)
            assert [number for number in numbers if digits_of(number) > 7] == []


def test_they_are_run_with_no_more_than_readers_are_told_to_install():
    """Notebooks run with a wheel and the extras that they name: `make test` removes the packages of all other extras
    (see `compared`).
    """
    said = (FOLDER.parent / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    named = re.search(r"pip install '\.\[([a-z,]+)\]'", said)[1].split(",")
    others = {module for name, modules in extras._EXTRAS.items() if name not in named for module in modules}
    code = (FOLDER.parent / ".make" / "ties" / "sitecustomize.py").read_text()
    absent = next(node for node in ast.parse(code).body if isinstance(node, ast.Assign))
    assert set(ast.literal_eval(absent.value)) == others


def test_tags_that_switch_the_comparison_off_are_absent(cells):
    assert [cell.id for cell in cells if any(tag.startswith("nbval") for tag in cell.metadata.get("tags", []))] == []


def test_a_notebook_stays_small(path):
    """Most outputs are pictures, and each is stored twice: with alternative text for JupyterLab, and plainly for other
    readers.
    """
    text = path.read_text(encoding="utf-8")
    assert len(text) < 600_000
    assert len(BITS.sub("", text)) < 115_000


def test_the_folders_readme_lists_every_notebook():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in NOTEBOOKS if f"({path.name})" not in text] == []


@pytest.mark.slow
def test_freezing_again_changes_no_byte_and_gives_what_is_saved(tmp_path):
    """The test uses one notebook to save time, because nbval compares the outputs of all. Pixels may differ between
    machines (fonts, compression), so pictures are left out of the comparison with the saved file.
    """
    path = FOLDER / "00_start_here.ipynb"
    place = tmp_path / path.name
    shutil.copy(path, place)
    freeze(place)
    first = place.read_bytes()
    freeze(place)
    assert place.read_bytes() == first
    assert without_pictures(first.decode()) == without_pictures(path.read_text(encoding="utf-8"))


LEFT = """\
from pathlib import Path
from toolkit import Question, Survey, collect, warner
from toolkit.survey.serving.background import list_servers
survey = Survey("Exams", [Question("cheated", "Have you?", design=warner(p="3/4"))], consent="Stop.")
collector = collect(survey, database="sqlite:///left.db", watch=False)
written = Path("pid").write_text(str(list_servers()[0].pid))"""
TIES = "import importlib.util, numpy as np; [importlib.util.find_spec('polars'), np.sort.__name__]"


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Return the output of nbval on five notebooks, and the folder in which it ran.

    It runs as in `make elsewhere`: equal values are sorted in random order and optional packages are missing, which the
    last notebook shows.
    """
    folder = tmp_path_factory.mktemp("compared")
    shutil.copy(FOLDER.parent / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    books = {"good": ("1 + 1", 1, "2"), "tampered": ("1 + 1", 1, "3"), "stripped": ("1 + 1", None, None)}
    books |= {"left": (LEFT, 1, None), "ties": (TIES, 1, "[None, '_sort']")}
    for name, (source, count, text) in books.items():
        cell = nbformat.v4.new_code_cell(source, execution_count=count)
        data = [{"text/plain": text}] if text else []
        cell.outputs = [nbformat.v4.new_output("execute_result", one, execution_count=count) for one in data]
        made = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": KERNEL})
        nbformat.write(made, folder / f"{name}.ipynb")
    sanitize = f"--nbval-sanitize-with={FOLDER.parent / '.make' / 'sanitize.cfg'}"
    options = ["--nbval", sanitize, "--continue-on-collection-errors", "-p", "no:cacheprovider", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(FOLDER.parent / ".make" / "ties")}
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout, folder


@pytest.mark.slow
def test_nbval_compares_outputs_and_rejects_a_notebook_that_was_not_run(compared):
    """nbval alone would accept the third of these; the conftest.py of the project rejects it."""
    said, _ = compared
    assert "1 failed, 3 passed, 1 error" in said
    assert "stripped.ipynb must be run top to bottom in a fresh kernel" in said
    assert "FAILED tampered.ipynb" in said


@pytest.mark.slow
def test_a_server_of_a_killed_kernel_is_ended(compared):
    """nbval kills its kernels; the conftest.py of the project stops their servers."""
    _, folder = compared
    assert ends(int((folder / "pid").read_text()))


def done(path, **settings):
    """Return the names of a notebook after its last cell, run as plain Python, with other values for some names."""
    names = {}
    for cell in code_of(book(path).cells):
        source = cell.source
        for name, value in settings.items():
            source = re.sub(rf"^{name} = \S+", f"{name} = {value}", source, flags=re.MULTILINE)
        exec(compile(source, f"cell {cell.id}", "exec"), names)  # noqa: S102 — cells of this repository
    return names


@pytest.mark.slow
def test_a_shown_ledger_has_budget_left_after_run_all(monkeypatch):
    """A displayed ledger has some budget left when a reader arrives after "run all"."""
    monkeypatch.chdir(FOLDER)
    assert done(FOLDER / "05_choosing_a_budget.ipynb")["ledger"].remaining.epsilon > 0


@pytest.mark.slow
def test_a_shown_collection_stays_open_until_the_kernel_ends(tmp_path, monkeypatch):
    """This is tested in the same run: the displayed outputs equal the saved ones, except for pixels."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    saved = book(FOLDER / "08_collecting_answers.ipynb")
    run = copy.deepcopy(saved)
    run.cells.append(nbformat.v4.new_code_cell("[collector.status().is_serving, collector.status().state]"))
    place = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(run, timeout=300, kernel_name="python3", record_timing=False, resources=place).execute()
    assert run.cells.pop().outputs[0].data["text/plain"] == "[True, 'open']"
    assert list_servers() == []
    assert told(run.cells) == told(saved.cells)


def told(cells):
    """Return the text of outputs, without pixels and without content that exists only in a browser."""
    return [
        {kind: without_pictures(str(text)) for kind, text in data.items() if kind != WIDGET}
        for data in bundles_of(cells)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("people", [3, 9])
def test_a_class_below_ten_sees_its_estimate_when_the_last_has_answered(people, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    names = done(FOLDER / "15_a_class_answers.ipynb", PEOPLE=people)
    names["collector"].close()
    assert (names["survey"].minimum, names["survey"].step) == (people, people)
    assert [reports for reports, *_ in names["view"].history] == [people]
    assert len(names["reports"]) == people


def test_nothing_that_a_widget_shows_is_closed_or_spent_further_down(cells):
    """The notebook has a ledger that `show_ledger` shows, and a collection that shows itself; later cells charge and
    close only others.
    """
    shown = set()
    for cell in code_of(cells):
        calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
        ended = {ast.unparse(call.func) for call in calls} & {
            f"{name}.{verb}" for name in shown for verb in ("close", "charge")
        }
        assert ended == set(), f"{ended} ends what is shown live above"
        shown |= {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "show.show_ledger"}
        for node in ast.parse(cell.source).body:
            if (
                isinstance(node, ast.Assign)
                and ast.unparse(node.value).startswith("collect(")
                and "watch=False" not in cell.source
            ):
                shown.add(ast.unparse(node.targets[0]))


def ends(pid):
    """Return whether a process has ended: it has released its lock, but may take a moment to exit or to be noticed by
    its parent.
    """
    end = time.monotonic() + 60
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def without_pictures(text):
    return BITS.sub("", text)


def mapped():
    """Return the notebook and the heading of every entry in the map of the lectures: a number, then headings in quotes;
    details in brackets.
    """
    for row in (FOLDER / "README.md").read_text(encoding="utf-8").partition("## Where each idea")[2].splitlines():
        number = None
        where = re.sub(r"\([^)]*\)", "", row.rpartition("|")[0].rpartition("|")[2])
        for found, heading in re.findall(r'\b(\d\d)\b|"([^"]+)"', where):
            number = found or number
            if heading:
                yield number, heading


def test_the_map_of_the_lectures_leads_to_headings_that_exist():
    headings = {
        path.stem[:2]: [
            line.lstrip("# ")
            for cell in book(path).cells
            for line in cell.source.splitlines()
            if cell.cell_type == "markdown" and line.startswith("#")
        ]
        for path in NOTEBOOKS
    }
    found = list(mapped())
    assert len(found) > 80
    assert sorted({entry for entry in found if entry[1] not in headings[entry[0]]}) == []


def test_120_of_141_ideas_are_asserted_where_the_table_says():
    """Code counts if readers see it or if it is folded after the cell that it checks; solutions and prose do
    not count.
    """
    with (FOLDER / "teaching" / "ideas.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["number"]) for row in rows] == list(range(1, 142))
    cells = {(path.stem[:2], cell.id): cell for path in NOTEBOOKS for cell in book(path).cells}
    kinds = {"assert": [], "folded assert": ["check"], "weak": []}
    for row in rows:
        first, *others = [cells[tuple(place.split())] for place in row["cells"].split("; ")]
        if row["held by"] == "prose":
            assert first.cell_type == "markdown", row
            continue
        assert first.metadata.get("tags", []) == kinds[row["held by"]], row
        for cell in (first, *others):
            assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(cell.source))), row
            assert "solution" not in cell.metadata.get("tags", []), row
    assert sum(row["held by"] in ("assert", "folded assert") for row in rows) >= 120
