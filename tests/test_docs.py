"""The documentation: names on its pages exist, its examples run, and every public module is in the reference."""

import argparse
import ast
import doctest
import math
import re
import runpy
import shlex
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

import reference
from links import find_faults
from tests.slowly import case, each
from tests.test_docstrings import ROOMS
from toolkit import Design, Zcdp, crosswise, forced, k_ary, kuk, mangat, plan, triangular, unrelated, warner
from toolkit.analysis import MixedFit
from toolkit.command import _build_parser, main
from toolkit.core import subsampled
from toolkit.core.loss import Pure
from toolkit.learning import Thresholdout
from toolkit.local import numeric, oracles
from toolkit.local.oracles.ticks import CappedBoxes
from toolkit.planning import guess_rate, roc_limit
from toolkit.show import AnswerCard
from toolkit.show.designing import options_against_k

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Lines that run nothing in the toolkit: commands of another person, files, `make` and pip, and web pages, which
# tests/browser runs.
NOT_RUN = {"html", "r", "sql", "text"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def typed(page: Path) -> list[str]:
    """Return the lines of a page's shell blocks, without comments."""
    text = "".join(block for kind, block in blocks(page) if kind == "sh")
    return [line.partition("  #")[0].strip() for line in text.splitlines() if line.strip() and line.strip()[0] != "#"]


@each(page=PAGES)
def test_every_block_is_of_a_kind_that_is_run(page: Path) -> None:
    """Python examples run as a session, in the doctests of README.md and docs/; shell examples run in the test
    below.
    """
    for kind, block in blocks(page):
        if kind == "python":
            assert block.startswith(">>> "), block
        else:
            assert kind in {"sh"} | NOT_RUN, kind


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/start/install.md"])
def test_the_first_command_of_a_newcomer_works_in_a_checkout(name: str) -> None:
    """There is no version on the package index yet, so a page that began with it would begin with an error."""
    first = (ROOT / name).read_text(encoding="utf-8").split("```sh\n")[1].splitlines()[0]
    assert first.startswith(("make lab", "pip install '.["))


@pytest.mark.slow
def test_what_a_page_has_a_shell_do_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page runs in a folder of its own, which holds only what students handed in; pip, jupyter and make are not
    run here.
    """
    ran = 0
    for page in (page for page in PAGES if page.name != "production.md"):  # tests/production does this
        folder = tmp_path / str(page.relative_to(ROOT)).replace("/", "-")
        (folder / "handed_in").mkdir(parents=True)
        (folder / "handed_in" / "ann.toml").write_text('"P.1" = 1.1\n')
        monkeypatch.chdir(folder)
        for line in typed(page):
            program, *words = shlex.split(line)
            assert program in {"toolkit", "pip", "jupyter", "make"}, line
            if program == "toolkit":
                assert main(words) == 0, (page.name, line)
                ran += 1
    assert ran >= 8


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_lines_that_open_a_server_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctests leave out these examples, because a server takes seconds; they run in the order of the page, in an
    empty folder.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("toolkit.teaching.classroom.own_address", lambda: "127.0.0.2")
    left_out = [page for page in PAGES if "+SKIP" in page.read_text(encoding="utf-8")]
    names_of_pages = {page.name for page in left_out}
    assert names_of_pages == {"README.md", "class.md", "questionnaire.md", "synthetic.md"}
    left_out = [page for page in left_out if page.name != "synthetic.md"]  # tests/curator/test_synthetic.py runs it
    for page in left_out:
        examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
        names: dict[str, object] = {}
        try:
            for example in examples:
                names["_"] = exec(example.source, names)  # noqa: S102  our own page
        finally:
            for name in ("collector", "trial", "room"):
                names[name].close() if name in names else None  # type: ignore[attr-defined]


def test_every_verb_and_target_that_is_named_exists() -> None:
    (verbs,) = (action for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"`toolkit ([a-z]+)", text)) <= set(verbs.choices), page
        assert set(re.findall(r"`make ([a-z]+)", text)) <= targets, page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
@each(page=[*sorted((ROOT / "docs" / "from").glob("*.md")), *sorted((ROOT / "docs" / "howto" / "models").glob("*.md"))])
def test_calls_in_a_text_run_and_those_with_dots_take_what_they_are_given(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Yield the text between backticks, in tables only that of the last column, with the names that the page's session
    defines.
    """
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"fit": MixedFit, "given": lambda **words: words}
    for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8")):
        exec(compile(example.source, page.name, "exec"), names)  # noqa: S102  our own page
    names |= stand_ins()
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    parts = (line.rstrip(" |").rpartition(" | ")[2] if line.startswith("|") else line for line in text.splitlines())
    for span in (span for part in parts for span in re.findall(r"`([^`]+\(.*?)`", part)):
        whole = re.sub(r"=(?=[,)])", "=...", re.sub(r", …\)", ", **{...: ...})", span).replace("…", "..."))
        with case(page.name, span):
            tree = ast.parse(f"given({whole})" if re.match(r"\w+=", whole) else whole, mode="eval")
            for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
                if "..." not in ast.unparse(call):
                    eval(ast.unparse(call), names)  # noqa: S307
                elif "..." not in ast.unparse(call.func):
                    words = {word.arg: word.value for word in call.keywords if word.arg}
                    signature(eval(ast.unparse(call.func), names)).bind_partial(*call.args, **words)  # noqa: S307


def stand_ins() -> dict[str, Any]:
    """Return the names that pages take for granted: public modules, and some data."""
    names: dict[str, Any] = {}
    for room in ("toolkit", "toolkit.central", "toolkit.learning", "toolkit.analysis"):
        names |= {name: getattr(import_module(room), name) for name in import_module(room).__all__}
    rng, n = np.random.default_rng(1), 400
    frame = pd.DataFrame({"x": rng.normal(size=n), "rr": rng.integers(0, 2, n), "y": rng.integers(0, 2, n)})
    frame["trust"] = rng.choice(["low", "medium", "high"], n)
    frame = frame.assign(report=frame["rr"], w=1.0, hours=40, pay=100, age=33, city="north", degree="law")
    frame["age"] = rng.integers(18, 80, n)
    frame["female"], frame["V"] = rng.integers(0, 2, (2, n))
    crosswise, at_random = names["crosswise"], rng.random(n) < 0.2
    reports = [crosswise(p).randomize(rng.random(n) < share, rng=rng) for p, share in (("0.1", 0.3), ("0.15", 0))]
    frame["Y"], frame["A"] = np.where(at_random, rng.integers(0, 2, (2, n)), reports)
    ledger = names["Ledger"](Pure(100))
    names |= {"np": np, "frame": frame, "df": frame, "design": warner("3/4"), "sample": names["Sample"](weights="w")}
    names |= {"ledger": ledger, "curator": names["Curator"](frame, ledger, neighbors="replace")}
    names |= {"mechanism": names["Laplace"].for_epsilon(1), "x": 3, "p": 0.7, "p1": 0.3, "p2": 0.8, "rng": rng}
    names |= {"counts": [[300, 700], [750, 250]], "matrix": np.eye(2), "options": ["no", "yes"], "truth": [True, False]}
    return names | {
        "estimate": warner("3/4").estimate_counts([60, 40]),
        "share": 0.1,
        "toolkit": import_module("toolkit"),
    }


def named(text: str) -> object:
    """Return the object that a dotted name stands for."""
    parts = text.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise ImportError(text)


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_every_formula_names_a_function_that_exists() -> None:
    """The names are in the last column of each table of mathematics.md, and wherever a page links a name."""
    text = (ROOT / "docs" / "understand" / "mathematics.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| [^-]", line) and not line.endswith("| function |")]
    assert len(rows) > 45
    for row in rows:
        name = re.search(r"`(toolkit\.[\w.]+)` \|$", row)
        assert name, row
        assert named(name[1]) is not None
    for page in PAGES:
        for link in re.findall(r"\{py:obj\}`[^<`]*<([\w.]+)>`", page.read_text(encoding="utf-8")):
            assert named(link) is not None


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_every_term_of_the_glossary_has_a_name_that_exists() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    terms = re.findall(r"^\| ([^|]+) \| [A-Z][^|]+\. \| `(toolkit\.[\w.]+)` \|$", table, flags=re.MULTILINE)
    assert len(dict(terms)) == table.count("\n| ") - 1
    assert 40 <= len(terms) <= 60
    for term, name in terms:
        with case(term, name):
            assert named(name) is not None


def yes(design: Design) -> tuple[float, float, float]:
    """Return s, f and epsilon of a yes/no design."""
    return float(design.matrix[1, 1]), float(design.matrix[0, 1]), design.epsilon


def zcdp_epsilon(rho: float, delta: float) -> float:
    def at(a: float) -> float:
        return a * rho + (math.log(1 / delta) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)

    return float(minimize_scalar(at, bounds=(1.0001, 1000), method="bounded").fun)


def pq(oracle: oracles.Oracle) -> tuple[float, float]:
    return float(oracle._support_law.p), float(oracle._support_law.q)


def support_variance() -> float:
    p, q = 0.5, 1 / (E + 1)
    share = q + (p - q) / K
    return share * (1 - share) / (100 * (p - q) ** 2)


def bit_share(at: float) -> float:
    """Return how often an answer is reported as 1."""
    bit = numeric.one_bit((0, 1), 1)
    return float(bit._support_law.q) + bit._support_law.slope * at


def piecewise_variance(x: float) -> float:
    h = E**0.5
    return x**2 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)


def hybrid_share(epsilon: float) -> float:
    return float(numeric.hybrid((0, 1), epsilon).window_probability)


def wave_width() -> float:
    """Return the width of the window, as a share of the range."""
    wave = numeric.square_wave((0, 1), 1, points=4001)
    return wave.width / wave.steps


E, K = math.exp(1.0), 12
FORMULAS: dict[str, tuple[Callable[[], object], object]] = {
    "Warner": (lambda: yes(warner("4/5")), (0.8, 0.2, math.log(4))),
    "forced": (lambda: yes(forced(yes="1/10", no="1/5")), (0.8, 0.1, math.log(8))),
    "unrelated": (lambda: yes(unrelated("1/2", "1/4")), (0.625, 0.125, math.log(5))),
    "Mangat": (lambda: yes(mangat("3/4")), (1, 0.25, math.inf)),
    "crosswise": (lambda: yes(crosswise("4/5")), (0.8, 0.2, math.log(4))),
    "triangular": (lambda: yes(triangular("1/4")), (1, 0.25, math.inf)),
    "Kuk": (lambda: kuk("3/4", "1/3", draws=3).epsilon, 3 * math.log((2 / 3) / (1 / 4))),
    "k-ary": (lambda: k_ary(range(K), epsilon=1).matrix[0, :2], (E / (E + K - 1), 1 / (E + K - 1))),
    "subset": (lambda: oracles.subset(range(40), 1).size, round(40 / (E + 1))),
    "optimized unary": (lambda: pq(oracles.optimized_unary(range(K), 1)), (0.5, 1 / (E + 1))),
    "symmetric unary": (lambda: pq(oracles.unary(range(K), 1)), (E**0.5 / (E**0.5 + 1), 1 / (E**0.5 + 1))),
    "local hashing": (lambda: oracles.local_hash(range(K), 1).values, round(E + 1)),
    "limit": (
        lambda: oracles.limit(K, 1).risk,
        min((K - 1) ** 2 * (d * E + K - d) ** 2 / (K * d * (K - d) * (E - 1) ** 2) for d in range(1, K)),
    ),
    "support": (lambda: oracles.optimized_unary(range(K), 1).variance(np.full(K, 1 / K), 100)[0], support_variance()),
    "capped boxes": (lambda: CappedBoxes(range(K), 2, 1, 4).epsilon, 4 * math.log(3)),
    "one bit": (lambda: (1 - 2 * (q := bit_share(0.0)), q), ((E - 1) / (E + 1), 1 / (E + 1))),
    "piecewise": (lambda: numeric.piecewise((-1, 1), 1).variance(0.5, 1, sd=0), piecewise_variance(0.5)),
    "hybrid": (lambda: (hybrid_share(0.6), hybrid_share(1.0)), (0, 1 - math.exp(-0.5))),
    "square wave": (lambda: wave_width(), 2 * (E - E + 1) / (2 * E * (E - 2))),
    "samples": (lambda: subsampled(Pure(1), 0.1).epsilon, math.log(1 + 0.1 * (E - 1))),
    "zcdp": (lambda: Zcdp(0.5).to_approx(1e-6).epsilon, zcdp_epsilon(0.5, 1e-6)),
    "guess": (lambda: guess_rate(1), E / (1 + E)),
    "roc": (lambda: roc_limit(0.1, 1), min(E * 0.1, 1 - 0.9 / E)),
    "share": (lambda: warner("3/4").estimate_counts([60, 40]).value, (0.4 - 0.25) / 0.5),
    "variance": (lambda: warner("3/4").variance(0.2, 100), 0.35 * 0.65 / (100 * 0.25)),
    "people": (lambda: plan(warner("3/4"), prevalence=0.2, margin=0.05).n, 1.95996**2 * 0.35 * 0.65 / (0.25 * 0.05**2)),
    "holdout": (lambda: Thresholdout(n=1000, answers=10, sigma=0.1).loss.epsilon, 2 * 10 / (0.1 * 1000)),
}


@each(name=FORMULAS)
def test_what_a_formula_says_is_what_is_computed(name: str) -> None:
    """Weights, numbers of people and windows are rounded to integers, so the values agree within 1 %."""
    computed, formula = FORMULAS[name]
    assert computed() == pytest.approx(formula, rel=0.01, abs=1e-6)


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_every_package_is_in_the_reference_with_first_sentences() -> None:
    """Every package is in the reference and every name has a first sentence."""
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"^```\{module\} (\S+)$", pages, flags=re.MULTILINE))
    assert shown == set(reference.PUBLIC_MODULES)
    assert {f"toolkit.{folder}" for folder in ROOMS} <= shown
    for face in reference.PUBLIC_MODULES:
        for name, value in reference.public_objects(face):
            assert len(reference._first_sentence(value)) > 10, f"{face}.{name}"


@pytest.mark.parametrize("name", ["analysis.LogisticFit", "local.numeric.SquareWave", "curator.Curator"])
def test_what_a_class_has_from_one_without_a_page_is_described_with_it(name: str) -> None:
    face = f"toolkit.{name.rpartition('.')[0]}"
    assert f".. autoclass:: toolkit.{name}\n   :inherited-members:\n" in reference.module_page(face)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_the_site_shows_values_and_names_what_has_no_text() -> None:
    """Changes that docs/conf.py makes to signatures, to the tables of pandas, to letters that are links, and to folded
    cells.
    """
    site = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    shown = {
        value: site["edit_signature"](None, "", "", value, None, given, None)[0]
        for value, given in ((options_against_k, "(epsilon, *, ks=_OPTION_COUNTS)"), (AnswerCard, "(*args, **kwargs)"))
    }
    assert shown[options_against_k].startswith("(epsilon, *, ks=(2, 3, ")
    assert shown[AnswerCard] == "(question, *, language=None)"
    context = {"body": r'<th></th><a class="x" href="g.html#delta"><span><span class="m">\(\delta\)</span></span></a>'}
    site["improve_html"](None, "", "", context, None)
    assert context["body"].startswith('<td></td><a class="x" href="g.html#delta" aria-label="delta"><span>')
    source = [(ROOT / "notebooks" / "01_why_anonymization_fails.ipynb").read_text(encoding="utf-8")]
    site["rewrite_source"](None, "notebooks/01_why_anonymization_fails", source)
    assert source[0].count('"hide-input"') == source[0].count('"source_hidden": true') > 10


def test_every_notebook_is_in_the_course() -> None:
    listed = (ROOT / "docs" / "course" / "index.md").read_text(encoding="utf-8")
    assert [path.stem for path in (ROOT / "notebooks").glob("*.ipynb") if f"notebooks/{path.stem}>" not in listed] == []


def test_pictures_of_the_first_page_are_small() -> None:
    assert {path.name for path in (ROOT / "docs" / "images").iterdir()} == {"phone.png", "result.png"}
    assert all(path.stat().st_size < 100_000 for path in (ROOT / "docs" / "images").iterdir())


def test_links_that_lead_nowhere_and_things_from_elsewhere_are_seen(tmp_path: Path) -> None:
    """The last step of `make docs`."""
    page = '<p id="here"><a href="b.html#there">x</a><a href="#here">y</a><a href="c.html">z</a><script src="https://x.example/a.js"></script>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text("<p>")
    assert find_faults(tmp_path) == [
        "a.html: fetched from elsewhere: https://x.example/a.js",
        "a.html: no such anchor: b.html#there",
        "a.html: no such file: c.html",
    ]
