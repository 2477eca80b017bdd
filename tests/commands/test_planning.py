import json
import re

import pytest

from tests.commands.shell import said
from toolkit import plan, warner
from toolkit.command import main
from toolkit.local.catalogue import makers, parameter_requirements


def test_plan_solves_for_what_is_left_out(capsys):
    told = said(
        capsys, "plan", "warner", "--prevalence", "0.2", "--margin", "0.03", "--epsilon", "1", "--response", "0.5"
    )
    assert "4,613 people" in told
    assert "invite 9,226 people" in told
    assert main(["plan", "_hidden", "--prevalence", "0.2"]) == 2


def test_plan_prints_json(capsys):
    options = ("--prevalence", "0.2", "--margin", "0.03", "--epsilon", "1", "--response", "0.5")
    facts, solved = (
        json.loads(said(capsys, "plan", "warner", *options, "--json")),
        plan(warner, prevalence=0.2, margin=0.03, epsilon=1, response=0.5),
    )
    numbers = {"design": "warner", "n": solved.n, "invited": solved.invited, "margin": solved.margin, "power": None}
    assert facts | numbers == facts
    infinite = json.loads(
        said(capsys, "plan", "forced", "yes=0", "no=1/6", "--prevalence", "0.2", "--n", "50", "--json")
    )
    assert infinite["epsilon"] == "inf"


def test_plan_takes_a_design_with_its_arguments(capsys):
    die = ("plan", "forced", "yes=1/6", "no=1/6", "--prevalence", "0", "--detect", "0.1", "--power", "0.8")
    assert "277 people, epsilon 1.609" in (told := said(capsys, *die))
    assert "0.8 is first reached with 254 people, and by every size from 277 on" in told
    assert "223 people" in said(capsys, *die, "--sides", "1")
    assert said(capsys, *die, "--sides", "2") == told
    with pytest.raises(SystemExit):
        main([*die, "--sides", "3"])
    capsys.readouterr()
    assert "k_ary" in said(
        capsys, "plan", "k_ary", "options=3", "--prevalence", "0.5,0.3,0.2", "--n", "500", "--epsilon", "1"
    )
    assert "±2 at" in said(
        capsys, "plan", "one_bit", "bounds=0,80", "--prevalence", "30", "--margin", "2", "--epsilon", "1"
    )
    assert "epsilon 0.6931" in said(capsys, "plan", "warner", "p=2/3", "--prevalence", "0.5", "--n", "500")


@pytest.mark.slow
def test_the_help_lists_the_designs_that_can_solve_for_epsilon(capsys):
    """An error names the parameters that a design takes."""
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    listed = told.partition("a design with an epsilon: ")[2].partition(";")[0].split(", ")
    waiting = [name for name, maker in makers().items() if "epsilon" in parameter_requirements(maker)]
    assert listed == [name for name in waiting if name not in ("additive", "multiplicative", "matrix", "square_wave")]
    assert len(listed) > 5
    assert main(["plan", "k_ary", "--prevalence", "0.5", "--n", "5", "--epsilon", "1"]) == 2
    assert "write toolkit plan k_ary options=…" in capsys.readouterr().err


@pytest.mark.slow
def test_plan_never_hands_an_epsilon_to_a_probability(capsys):
    told = said(capsys, "plan", "crosswise", "--prevalence", "0.1", "--n", "500", "--epsilon", "0.7")
    assert told.splitlines()[0] == repr(plan(warner, prevalence=0.1, n=500, epsilon=0.7)).replace("warner", "crosswise")
    for name in ("mangat", "triangular"):
        assert main(["plan", name, "--prevalence", "0.1", "--n", "500", "--epsilon", "0.7"]) == 2
        assert f"`{name}` needs p, got nothing: write toolkit plan {name} p=…" in capsys.readouterr().err
        assert main(["plan", name, "p=0.7", "--prevalence", "0.1", "--n", "500", "--epsilon", "0.7"]) == 2
        assert "the design has its own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("Fraction --n 500 --epsilon 1", "`design` must be one of warner, forced, .*, got 'Fraction': try warner"),
        ("matrix --n 500", "`design` must be one of"),
        ("forced yes=1/6 no --n 500", "must be written as NAME=VALUE, got 'no'"),
        ("warner q=1/3 --n 500", "`warner` takes p, epsilon, got 'q'"),
        ("warner p=1/3 epsilon=1 --n 500", "exactly one of `p` and `epsilon`"),
        ("k_ary --n 500 --epsilon 1", "`k_ary` needs options"),
        ("k_ary options=a --n 500 --epsilon 1", "`options` must be a list of labels"),
        ("one_bit bounds=5 --n 500 --epsilon 1", "`bounds` must be two finite numbers"),
        ("warner --n 500 --epsilon one", "`epsilon` must be a number or a fraction"),
        ("warner --n 500 --epsilon 1,2", "`epsilon` must be a number"),
        ("warner --n 500 --margin 1e999", "numbers must be below 1e308"),
        ("warner --n 500 --epsilon 1e999", "numbers must be below 1e308"),
        ("warner --n 900 --epsilon 1 --population 1500 --response 0.5", "1,800 would have to be invited"),
    ],
)
def test_what_cannot_be_planned_is_a_sentence_and_no_traceback(arguments, message, capsys):
    assert main(["plan", *arguments.split(), "--prevalence", "0.1"]) == 2
    shown = capsys.readouterr().err
    assert re.search(message, shown)
    assert shown.startswith("toolkit plan: ")
    assert shown.count("\n") == 1


@pytest.mark.slow
def test_the_help_of_plan_names_the_families_and_each_of_them_works(capsys):
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    names = re.search("a design with an epsilon: (.*?);", told).group(1).split(", ")
    assert {"warner", "crosswise", "k_ary"} <= set(names)
    for name in names:
        own = {"options": ["options=4"], "bounds": ["bounds=0,8"]}
        needed = [part for key, parts in own.items() if key in parameter_requirements(makers()[name]) for part in parts]
        guess = {"options": "0.1,0.2,0.3,0.4", "bounds": "3"}.get(needed[0].partition("=")[0] if needed else "", "0.1")
        found = said(capsys, "plan", name, *needed, "--prevalence", guess, "--n", "500", "--epsilon", "1")
        assert "500 people, epsilon 1," in found
