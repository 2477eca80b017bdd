"""Notebooks in other languages: complete, current, with the code, formulas, numbers and links of the English ones."""

import ast
import copy
import functools
import io
import json
import re
import shutil
import subprocess
import sys
import tokenize

import pytest

from tests.teaching.key import right
from tests.teaching.test_copies import FOLDER, ROOT
from toolkit.teaching import copies
from toolkit.teaching.grading import grade_notebook
from toolkit.teaching.replies import languages, translated_replies
from toolkit.teaching.student_cells import exercises_in, seal_translations, source_of, tags_of
from toolkit.teaching.translations import read_translations, translate_notebook

TRANSLATED = ("00_start_here", "03_randomized_response", "05_choosing_a_budget")
BOOKS = [(language, name) for language in languages()[1:] for name in TRANSLATED]
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
TARGET = re.compile(r"\]\(([^)]*)\)")
MARK = re.compile(r"</?\w+>|^#+ |^\||\|$|^\* |^\|-.*$", re.MULTILINE)


def file_of(language):
    return FOLDER / "teaching" / "languages" / f"{language}.toml"


@functools.cache
def translations_of(language):
    return read_translations(file_of(language))


@functools.cache
def english(name):
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


@functools.cache
def pairs(language, name):
    """Return each cell of a notebook beside its translation."""
    cells = copy.deepcopy(english(name))
    translate_notebook(name, cells, translations_of(language))
    return list(zip(english(name), cells, strict=True))


def pairs_of(language, name, kind):
    return [pair for pair in pairs(language, name) if pair[0]["cell_type"] == kind]


def test_each_language_has_the_same_notebooks_and_replies():
    assert [path.stem for path in sorted(file_of("de").parent.glob("*.toml"))] == languages()[1:] == ["de", "es"]
    assert all(copies.translated_notebooks(language) == [*TRANSLATED] for language in ("de", "es"))
    assert len(copies.translated_notebooks("en")) >= 18


@pytest.mark.parametrize(("language", "name"), BOOKS)
def test_every_text_cell_is_translated_from_its_present_text(language, name):
    """The error names the cell, and the hash to write when it has been translated anew."""
    for cell, translated in pairs_of(language, name, "markdown"):
        assert source_of(translated) != source_of(cell), cell["id"]


@pytest.mark.parametrize(("language", "name"), BOOKS)
def test_no_translation_is_left_over(language, name):
    """Each table belongs to a cell, and each comment or message to replace occurs once in its cell."""
    translations = translations_of(language)
    sources = {cell["id"]: source_of(cell) for cell in english(name)}
    for cell_id, table in translations.notebooks[name].items():
        assert set(table) in ({"of", "text"}, {"code"}), cell_id
        assert all(sources[cell_id].count(comment) == 1 for comment, _ in table.get("code", [])), cell_id
    assert "# The solution above, checked." in translations.everywhere


def comments(source):
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


@functools.cache
def without_messages(source):
    """Return the code without comments, messages of asserts and docstrings; and these messages and docstrings."""
    tree, messages = ast.parse(source), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and node.msg:
            messages += [ast.unparse(node.msg)] if re.search("[a-z]{2}", ast.unparse(node.msg)) else []
            node.msg = None
        elif isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            messages.append(ast.get_docstring(node))
            del node.body[0]
    return ast.dump(tree), messages


@pytest.mark.parametrize(("language", "name"), BOOKS)
def test_code_differs_in_comments_and_messages_only_and_all_of_them_are_translated(language, name):
    for index, (cell, translated) in enumerate(pairs_of(language, name, "code")):
        source = source_of(translated)
        if index == 0:
            for added in ("\nfrom toolkit.teaching.replies import set_language", f'\n\nset_language("{language}")'):
                assert source.count(added) == 1
                source = source.replace(added, "")
        before, after = without_messages(source_of(cell)), without_messages(source)
        assert after[0] == before[0], cell["id"]
        assert not set(before[1]) & set(after[1]), cell["id"]
        assert not set(comments(source_of(cell))) & set(comments(source)), cell["id"]
        assert len(comments(source)) == len(comments(source_of(cell)))
        assert [line for line in source.splitlines() if len(line) > 88] == [], cell["id"]


@pytest.mark.parametrize(("language", "name"), BOOKS)
def test_links_code_and_structure_of_the_text_stay(language, name):
    for cell, translated in pairs_of(language, name, "markdown"):
        before, after = source_of(cell), source_of(translated)
        for pattern in (TARGET, CODE, MARK):
            assert pattern.findall(after) == pattern.findall(before), cell["id"]
        assert before.count("**") == after.count("**"), cell["id"]


def formulas(text, separator):
    """Return the formulas with decimal points, without thousands separators and words."""
    found = [formula.replace("{,}", separator) for formula in FORMULA.findall(text)]
    return sorted(re.sub(r"\\text\{[^}]*\}", "", formula) for formula in found)


def numbers(text, pattern, thousands, decimal):
    """Return the numbers of a text outside of its code, formulas and targets of links."""
    for other in (CODE, FORMULA, TARGET):
        text = other.sub("", text)
    found = re.findall(pattern, text.replace("MIT 6.1600", ""))
    return sorted(float(number.replace(thousands, "").replace(decimal, ".")) for number in found)


@pytest.mark.parametrize(("language", "name"), BOOKS)
def test_formulas_and_numbers_keep_their_values(language, name):
    """Both languages have a decimal comma, and a space between groups of digits from five digits on."""
    for cell, translated in pairs_of(language, name, "markdown"):
        before, after = source_of(cell), source_of(translated)
        assert formulas(after, ".") == formulas(before, ""), cell["id"]
        values = numbers(before, r"\d+(?:,\d{3}\b)*(?:\.\d+)?", ",", ".")
        assert numbers(after, r"\d+(?: \d{3}\b)*(?:,\d+)?", " ", ",") == values, cell["id"]


@pytest.mark.parametrize(("language", "name"), BOOKS)
def test_outputs_stay_except_for_replies(language, name):
    answers = 0
    for cell, translated in pairs_of(language, name, "code"):
        if "answer" not in tags_of(cell):
            assert translated["outputs"] == cell["outputs"]
            continue
        answers += 1
        (data,) = (output["data"] for output in translated["outputs"])
        reply = translated_replies(language)["no answer yet. Put it in place of the three dots."]
        assert re.fullmatch(r"\d\d\.\d: ", data["text/plain"].removesuffix(reply))
    assert answers == {"00": 1, "03": 4, "05": 3}[name[:2]]


def test_a_changed_english_text_is_rejected_with_the_name_of_its_cell():
    cells = copy.deepcopy(english("00_start_here"))
    cells[2]["source"] = ["Another text."]
    translations = translations_of("de")
    with pytest.raises(ValueError, match=r"got none of cell survey of 00_start_here: .*de\.toml, with of = \"\w{8}\""):
        translate_notebook("00_start_here", cells, translations)


def test_sealed_translations_have_no_solutions(tmp_path):
    """This is what a wheel contains; all other translations stay."""
    for language in ("de", "es"):
        text = file_of(language).read_text(encoding="utf-8")
        (tmp_path / f"{language}.toml").write_text(seal_translations(text), encoding="utf-8")
        sealed, whole = read_translations(tmp_path / f"{language}.toml"), translations_of(language)
        assert "<details>" not in str(sealed)
        assert sealed.everywhere == whole.everywhere
        for name in TRANSLATED:
            removed = set(whole.notebooks[name]) - set(sealed.notebooks[name])
            assert removed == {cell["id"] for cell in english(name) if "<details>" in source_of(cell)}


@pytest.mark.slow
def test_a_students_copy_is_translated_and_graded_like_the_english_one(tmp_path):
    copies.copy_course(tmp_path, "student", language="de", add_install_cell=True)
    path = tmp_path / "notebooks" / "05_choosing_a_budget.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    sources = {cell["id"]: cell["source"] for cell in notebook["cells"]}
    assert "hier stehen Ihre Zeilen" in sources["my-limit"]
    assert sources["left-intro"] == "## Was noch zu tun ist"
    assert not [source for source in sources.values() if "<details>" in source]
    written = {cell["id"]: source_of(cell) for cell in english("05_choosing_a_budget") if "yours" in tags_of(cell)}
    for cell in notebook["cells"]:
        cell["source"] = written.get(cell["id"], cell["source"])
        if "answer" in tags_of(cell):
            cell["source"] = cell["source"].replace("...", repr(right(*exercises_in(cell))))
    path.write_text(json.dumps(notebook), encoding="utf-8")
    marks = grade_notebook(path, seed=1, seconds=300)
    assert [(mark.exercise, mark.points) for mark in marks] == [(mark.exercise, mark.max_points) for mark in marks]
    assert len(marks) == 5


@pytest.mark.slow
@pytest.mark.parametrize("language", ["de", "es"])
def test_written_notebooks_run_and_give_their_saved_outputs(language, tmp_path):
    """Six notebooks are run by nbval, as `make test` runs the English ones."""
    copies.copy_course(tmp_path / "course", language=language)
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    books = [tmp_path / "course" / "notebooks" / f"{name}.ipynb" for name in TRANSLATED]
    sanitize = f"--nbval-sanitize-with={ROOT / '.make' / 'sanitize.cfg'}"
    command = [sys.executable, "-m", "pytest", "-q", "--nbval", sanitize, "-p", "no:cacheprovider", *books]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    code = sum(cell["cell_type"] == "code" for name in TRANSLATED for cell in english(name))
    assert f"{code} passed" in done.stdout
