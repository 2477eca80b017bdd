"""Frequent wrong calls raise errors with the rule, the received value, the consequence and the remedy, under the public
name; and the remedy works.
"""

import doctest
import inspect
import pickle
import re
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import toolkit
from tests.slowly import each
from toolkit import Approx, Curator, Ledger, Pure, Question, Survey, Zcdp, forced
from toolkit.analysis import estimates
from toolkit.core import WeakPromiseWarning
from toolkit.local import questions

PRIVATE = re.compile(
    r"\b(Keeper|SpreadVerbs|CountingVerbs|PairVerbs|RobustVerbs|QuantileVerbs|FindingVerbs|MarginVerbs|"
    r"Publishable|AdditiveMechanism|SelectionMechanism)\b"
)
ROOMS = ("", ".analysis", ".central", ".central.stream", ".core", ".learning", ".local", ".planning", ".survey")


def _world() -> dict[str, Any]:
    """Return the objects that the calls use: a frame of 200 people, their reports, and results computed from them."""
    rng, design = np.random.default_rng(1), forced("1/6", "1/6")
    truth = rng.random(200) < 0.3
    count_rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "x": rng.integers(0, 100, 200),
            "y": rng.normal(size=200),
            "pay": rng.normal(size=200),
            "age": rng.integers(18, 70, 200),
            "city": rng.choice(["A", "B"], 200),
            "sex": rng.choice(["f", "m"], 200),
            "school": np.arange(200) % 20,
            "w": 1.0,
            "choice": rng.choice(["bus", "car", "bike"], 200),
            "trust": np.arange(200) % 5 + 1,
            "report": np.where(design.randomize(truth, rng), "yes", "no"),
            "day": pd.date_range("2026-01-01", periods=200),
            "list": np.resize(["control", "fraud", "bribes"], 200),
            "count": count_rng.binomial(3, 0.4, 200) + (np.arange(200) % 3 > 0) * (count_rng.random(200) < 0.4),
        }
    )
    coded = frame.assign(report=np.where(frame.report == "no", 1, 2))
    question = Question("report", "Have you?", design=design)
    return {
        **{name: getattr(toolkit, name) for name in toolkit.__all__},
        **{name: value for room in ROOMS for name, value in _public(room).items()},
        "np": np,
        "frame": frame,
        "coded": coded,
        "design": design,
        "question": question,
        "survey": Survey("Exams", [question], consent="We are a group."),
        "est": design.estimate_counts([140, 60]),
        "found": estimates(frame, {"report": design}, by="sex"),
        "curator": lambda *loss: Curator(frame, Ledger(*loss or [Pure(9)]), "replace"),
    }


def said(call: str) -> Any:
    """Return the result of a call of this file, as a user would write it."""
    return eval(call, dict(WORLD))  # noqa: S307


def _public(room: str) -> dict[str, Any]:
    module = import_module(f"toolkit{room}")
    return {name: getattr(module, name) for name in module.__all__}


WORLD = _world()
WHY_BOUNDS = ("needs `bounds`, got none", "read from the data would reveal its extremes", "bounds=(0, 100)")
RELATIONS = ("one person's record", "one person coming or going", "Ledger(Pure(1.0))")
CUT = "bounds=(0, 100), epsilon=1"

DATES = ("column day must hold numbers, got dates", "bands(*edges)", "days since a public day")
# The call, and words that its error message must contain.
REFUSED: dict[str, tuple[str, ...]] = {
    "Curator(frame, 1.0)": ("`Curator` needs `neighbors`, got none", *RELATIONS),
    "Curator(frame, Ledger(Pure(1.0)))": ("`Curator` needs `neighbors`", *RELATIONS),
    "Curator(frame, 1.0, 'replace')": ("`ledger` must be a Ledger, got float", "Ledger(Pure(1.0))"),
    "Curator(frame, Ledger(Pure(1.0)), 'unbounded')": ("must be one of replace, add_remove", "'add_remove'."),
    "curator().mean('x')": ("`Curator.mean`", *WHY_BOUNDS),
    "curator().iqr('x', epsilon=1)": ("`Curator.iqr`", *WHY_BOUNDS),
    "curator().median('x', epsilon=1)": ("`Curator.median`", *WHY_BOUNDS),
    "curator().correlation('x', 'y', epsilon=1)": ("`Curator.correlation`", *WHY_BOUNDS),
    "curator().preview.mean('x')": ("`Curator.preview.mean`", *WHY_BOUNDS),
    "curator().location('x', epsilon=1)": ("`Curator.location` needs `estimator` and `bounds`", "Huber(k)"),
    f"curator().location('x', missing=3, {CUT})": ("got `missing`", "missing values are dropped here"),
    "curator().trimmed_mean('x', 50)": ("`trim`", "by name, got 2", "trim=0.1 drops a tenth"),
    f"curator().trimmed_mean('x', trim=10, missing=0, {CUT})": ("got 10", "write 0.1"),
    f"curator().median('x', {CUT}, method='smooth')": ("must be a number", "got none", "write missing=50"),
    "curator().histogram('x', bins=10, epsilon=1)": ("got `bins`", "are public", "edges=[0, 10, 20]"),
    "curator().histogram('x', edges=10, epsilon=1)": ("must be a list", "edges=[0, 10, 20]"),
    "curator().groupby('city')": ("a curator has bounds, choose", "got `groupby`", 'by={"city": ['),
    "curator().count(\"city == 'A'\", epsilon=1)": ("must be a mapping", "got str", "write {\"city\": 'A'}"),
    "curator().count(city='A', epsilon=1)": ("got `city`", 'count({"city": "north"}, epsilon=0.5)'),
    "curator().mean('x', eps=1, bounds=(0, 100))": ("`Curator.mean` takes", "got `eps`", "`epsilon` may be meant"),
    "curator().mean('x', bounds=100, epsilon=1)": ("two finite numbers, got int", "write bounds=(0, 100)"),
    f"curator().mean('x', {CUT}, missing='mean')": ('must be "drop" or a number', "got 'mean'"),
    "curator().count(by={'city': ['A', 'B']}, epsilon=1).publish('no_such_folder/x')": (
        "in an existing folder, got no_such_folder",
        "nothing was written",
    ),
    "curator().count(by={'city': ['A', 'B']}, epsilon=1).publish()": ("`Estimate.publish` needs `path`", "pay.csv"),
    "curator().count({'city': 'A'}, epsilon=1).publish('t.xlsx')": (
        "must have no suffix",
        "got .xlsx",
        'publish("t") writes t.csv',
    ),
    "curator().mean('day', bounds=('2026-01-01', '2026-12-31'), epsilon=1)": DATES,
    "curator().median('day', bounds=(frame.day[0], frame.day[9]), epsilon=1)": DATES,
    "curator().histogram('day', edges=[frame.day[0], frame.day[9]], epsilon=1)": DATES,
    "curator().trimmed_mean('day', trim=0.1, missing=0, bounds=(frame.day[0], frame.day[9]), epsilon=1)": DATES,
    "collect(survey, port='eighty')": (
        "`port` must be a whole number from 0 to 65535, got 'eighty'",
        "chooses a free port",
    ),
    "collect(survey, port=80000)": ("`port` must be a whole number", "got 80000"),
    "collect(survey, workers='two')": ("`workers` must be a whole number, got 'two'",),
    "rehearse(survey, 100)": ("collect(survey, rehearsal=True), 100)", "survey.simulate(100)"),
    "est[0]": ("an estimate has the entries 'yes'", "got 0", ".value"),
    "est * 100": ("an estimate supports `-`", "with int", ".rescaled(100)"),
    "est.rescaled(-1)": ("`factor` must be above 0, got -1", "a negative factor would swap the limits"),
    "est.interval(alpha=0.05)": ("`Estimate.interval` takes", "got `alpha`", "level=0.95"),
    "est.interval(method='Wilson')": ("must be one of wilson", "got 'Wilson'", "write 'wilson'"),
    "est.test(50)": ("`null` must lie between 0 and 1", "got 50", "write 0.5"),
    "(est - est.rescaled(1)).test(2)": ("between -1 and 1", "got 2", "write 0.02"),
    "RunningTotal(52)": ("`RunningTotal` needs `periods`", "how often the total is published", "periods=52"),
    "RunningTotal.for_epsilon(52, 1)": (
        "`RunningTotal.for_epsilon` takes `epsilon` by position",
        "got 2",
        "periods=52",
    ),
    "RunningTotal.for_epsilon(1)": ("`RunningTotal.for_epsilon` needs `periods`", "how often", "periods=52"),
    "PrivateLogisticRegression(1, classes=(0, 1), row_norm=1, missing=0, ledger=1.0).fit([[1]], [0])": (
        "`ledger` must be a Ledger, got float",
        "Ledger(Pure(1.0))",
    ),
    "compose(1, 2)": ("`losses` must be a list of Pure", "got int", "[Pure(1), Pure(2)]"),
    "compose(Pure(1), Pure(2))": ("`losses` must be a list of Pure", "got Pure", "[Pure(1), Pure(2)]"),
    "Zcdp.within(Pure(1))": ("must be Approx, got Pure", "Approx(1, 1e-6)"),
    "Ledger(epsilon=1)": ("`Ledger` takes `ceiling`", "got `epsilon`", "Ledger(Pure(1.0))"),
    "shuffled(1, 1000)": ("`shuffled` needs `delta`", "shuffled(warner(epsilon=1.0), n=10_000, delta=1e-6)"),
    "shuffled(1, 1000, 1e-6)": ("must be a design, got int", "warner(epsilon=1.0)"),
    "plan_slope(design, 0.5, 1000)": ("`plan_slope` takes `design` by position", "got 3", "intercept=-1, slope=0.5"),
    "plan_difference(.1, .2)": ("`plan_difference` takes `design` by position", "got 2", "prevalence=(0.1, 0.2)"),
    "plan(design, prevalence=0.2, margin=0.04, confidence=0.95)": ("got `confidence`", "it is level=0.95"),
    "plan(design, prevalence=20, margin=0.04)": ("from 0 to 1", "got 20", "write 0.2"),
    "plan_survey({'r': design}, {'r': 0.05}, prevalence={'r': 0.2})": ("must be a mapping", '{"margin": 0.05}'),
    "budget_for({'a': warner}, epsilon=1)": ("a family and a guess", '{"cheated": (warner, 0.2)}'),
    "questionnaire([design, design])": ("`questionnaire` needs `epsilon`", "lambda e: warner(epsilon=e)"),
    "questionnaire([design], 1)": ("functions of an epsilon", "got list", "lambda e: warner(epsilon=e)"),
    "warner(75)": ("`p` must lie between 0 and 1, got 75", "write 0.75"),
    "warner(prob=0.7)": ("`warner` takes `p` and `epsilon`", "got `prob`", 'warner("3/4")'),
    "k_ary({'a', 'b'}, epsilon=1)": ("must be a list of labels, got set", "options have an order"),
    "k_ary(1.5, epsilon=1)": ("must be a list of labels, got float",),
    "forced_options(['a', 'b'], 0.1)": ("`probabilities` must be a list, got float", "give one per option"),
    "plain('yes')": ("must be a list of labels, got one string", "its letters"),
    "estimate(frame, survey)": ("`survey` must be a Survey, got DataFrame", "estimate(survey, reports)"),
    "design.estimate(frame)": ("reports must be one column, got DataFrame", 'frame["report"]'),
    "design.estimate(['maybe', 'No'])": ("(no, yes), got 1 of 2", "truth values", "check spelling"),
    "design.estimate([1, 2])": ("in 0 … 1, got 1 of 2 outside", "column.replace("),
    "design.estimate_counts({'nein': 700, 'yes': 300})": ("must be reports (no, yes)", "got 'nein'"),
    "design.randomize(['yes'], seed=1)": ("`Design.randomize` takes", "got `seed`", "default_rng(1)"),
    "design.estimate_counts([5, 6]) - k_ary(3, epsilon=1).estimate_counts([5, 6, 7])": (
        "the same labels, got yes and 0, 1, 2",
    ),
    "Question('a', 'Have you?', design=design, options=['yes', 'no'])": ("(no, yes), got yes, no", "make it equal"),
    "logistic(frame, 'report ~ age', design)": ("must be a frame, got 'report ~ age'", "the formula comes first"),
    "logistic('report ~ age', frame)": ("`logistic` needs `design`", 'logistic("report ~ age", frame'),
    "logistic('report ~ agee', frame, design)": ("got 'agee'", "there are x, y"),
    "logistic('report ~ age', frame, {'a': design, 'b': design})": ("name the column with their keys", "design_by="),
    "estimates(frame, {'report': design}, by=frame.city)": ("names of columns, got a Series", "by='city'"),
    "estimates(frame, {'report': design}, by='sx')": ("got none called sx", "there are x, y", "sex"),
    "estimates(coded, {'report': design})": (
        "rows with something else",
        "if 1 is yes and 2 no, write column.replace({1: 'yes', 2: 'no'})",
    ),
    "estimates(frame, {'report': design}, sample=Sample(weights='v'))": ("column of the data, got 'v'", "there are"),
    "estimates(frame, {'report': design}, weights='w')": ("got `weights`", 'Sample(weights="w")'),
    "found.differences('female')": ("one of the groups, got 'female'", "they are 'f', 'm'"),
    "found.differences()": ("`Findings.differences` needs `reference`", "compared with"),
    "found['q']": ("got 'q'", "they are report"),
    "Question(type='number')": ("`Question` takes `name`", "got `type`", "bounds=(0, 80)"),
    "Question('q', 'Which?', options=['a', 'b'], labels=['A', 'B'])": ("got list", '{"yes": "Yes, I have"}'),
    "Survey('Exams', [question])": ("`Survey` needs `consent`", "say who asks", 'consent="'),
}


@each(call=REFUSED)
def test_a_wrong_call_is_answered_in_words(call: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError, LookupError)) as caught:
        said(call)
    answer = str(caught.value)
    assert [words for words in REFUSED[call] if words not in answer] == [], answer
    assert re.search(r", got .+: .+\.['\"]?$", answer), answer
    assert not PRIVATE.search(answer), answer


def test_nothing_is_written_where_there_is_no_folder(tmp_path: Path) -> None:
    table = WORLD["curator"]().count(by={"city": ["A", "B"]}, epsilon=1)
    with pytest.raises(ValueError, match="an existing folder"):
        table.publish(tmp_path / "none" / "x")
    assert not list(tmp_path.iterdir())


# The call, and a correct call with the same result.
ACCEPTED = {
    "design.estimate(['Yes', 'No ']).value": "design.estimate(['yes', 'no']).value",
    "estimates(frame, {'report': design}, sample=Sample(weights='w'))['report'].value": (
        "estimates(frame, {'report': design}, sample=Sample(weights=frame['w']))['report'].value"
    ),
    "design.estimate_counts({'yes': 300, 'no': 700}).value": "design.estimate_counts([700, 300]).value",
    "design.estimate_counts({'yes': 300}).value": "design.estimate_counts([0, 300]).value",
    "design.estimate_counts({True: 300, False: 700}).value": "design.estimate_counts([700, 300]).value",
    "design.estimate_counts(frame.report.value_counts(ascending=True)).value": ("design.estimate(frame.report).value"),
    "logistic('report ~ age', frame, {'report': design}).value.tolist()": (
        "logistic('report ~ age', frame, design).value.tolist()"
    ),
    "likert(5, 1).distribution.epsilon": "k_ary([1, 2, 3, 4, 5], epsilon=1).epsilon",
    "(est - 0.3).value": "est.value - 0.3",
    "(est - np.float64(0.3)).se": "est.se",
    "(est - 0.3).interval().low": "est.interval().low - 0.3",
    "(est - 0.3).test(0).p": "est.test(0.3).p",
    "est['yes'].value": "est.value",
    "list(est['yes'].interval())": "[est.interval().low, est.interval().high]",
}


@each(call=ACCEPTED)
def test_what_can_be_meant_in_one_way_only_is_taken_so(call: str) -> None:
    assert said(call) == pytest.approx(said(ACCEPTED[call]), rel=1e-12)


def test_keys_that_were_found_are_taken_as_keys() -> None:
    keys = WORLD["curator"](Approx(3, 1e-3)).keys("city", epsilon=1, delta=1e-4)
    table = WORLD["curator"]().count(by={"city": keys}, epsilon=1)
    assert table.labels == keys.labels
    assert table["A"].value == table.value[table.labels.index("A")]
    less = table - 3
    assert less.release is not None
    assert less.release.steps[-1:] == ("less 3",)


def test_an_estimate_with_entries_is_no_sequence_and_no_array() -> None:
    est = WORLD["est"]
    for bad in (lambda: list(est), lambda: np.array([1.0, 2.0]) - est, lambda: est - [1.0], lambda: est - "1"):
        with pytest.raises(TypeError):
            bad()


@pytest.mark.parametrize(
    ("loss", "weak"),
    [(Pure(10), False), (Pure(10.5), True), (Approx(50, 1e-6), True), (Zcdp(50), False), (Zcdp(51), True)],
)
def test_a_release_that_promises_next_to_nothing_warns_where_it_was_called(loss: Any, weak: bool) -> None:
    for simulated in (False, True):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            Ledger(type(loss)(*([10**4] + [0.5] * isinstance(loss, Approx))), simulated=simulated).charge(loss)
        assert [one.category for one in heard] == [WeakPromiseWarning] * (weak and not simulated)
        assert all(one.filename == __file__ and "next to nothing" in str(one.message) for one in heard)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        WORLD["curator"](Pure(50)).mean("x", bounds=(0, 100), missing="drop", epsilon=50)
    assert [(one.category, one.filename) for one in heard] == [(WeakPromiseWarning, __file__)]


def test_a_warning_points_to_the_line_of_the_call_at_any_depth() -> None:
    settings = {"classes": (0, 1), "row_norm": 1, "missing": 0, "ledger": Ledger(Pure(1))}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        Survey("Exams", [WORLD["question"]], consent="Nobody can see your answers.")
        WORLD["PrivateLogisticRegression"](1, **settings).fit([[0.5], [0.7]], np.array([[0], [1]]))
    assert [one.filename for one in heard] == [__file__] * 2


def test_who_takes_the_warning_for_an_error_pays_nothing() -> None:
    ledger = Ledger(Pure(100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(WeakPromiseWarning):
            ledger.charge(Pure(50))
    assert ledger.spent == Pure(0)


def _callables() -> dict[str, Any]:
    """Return every public function and class by name, and the methods of classes."""
    found = {}
    for room in ROOMS:
        for name, value in _public(room).items():
            if inspect.isclass(value):
                methods = {one: inspect.getattr_static(value, one) for one in dir(value) if one[0] != "_"}
                functions = {one: getattr(kind, "__func__", kind) for one, kind in methods.items()}
                found |= {f"{name}.{one}": f for one, f in functions.items() if inspect.isfunction(f)}
            if callable(value):
                found[name] = value
    return found


def _example(called: Any) -> str | None:
    """Return the call that an error message about an unknown argument recommends, or None if Python itself raises the
    error.
    """
    try:
        called(an_argument_that_is_not_there=1)
    except TypeError as error:
        advice = re.search(r"; write ([A-Za-z_.]+\(.*)\.$|: write ([A-Za-z_.]+\(.*)\.$", str(error))
        return (advice[1] or advice[2]) if advice else None
    return None


EXAMPLES = {name: advice for name, called in _callables().items() if (advice := _example(called))}


@pytest.mark.slow
@each(name=EXAMPLES)
def test_the_call_that_is_advised_is_right(name: str) -> None:
    assert said(EXAMPLES[name]) is not None


def test_most_public_names_advise_a_call() -> None:
    assert {"Curator", "Ledger", "plan", "logistic", "estimates", "Survey", "warner", "Design"} <= set(EXAMPLES)
    assert len(EXAMPLES) > 40


def test_answering_in_words_changes_neither_signature_nor_what_is_called() -> None:
    mean = inspect.signature(Curator.mean)
    assert mean.parameters["bounds"].default is inspect.Parameter.empty
    assert Curator.mean.__qualname__ == "Curator.mean"
    assert (Curator.mean.__doc__ or "").startswith("Release the mean of a column")
    assert inspect.signature(Curator).parameters["neighbors"].default is inspect.Parameter.empty
    assert pickle.loads(pickle.dumps(forced)) is forced  # noqa: S301
    assert isinstance(forced, types.FunctionType)
    found = doctest.DocTestFinder().find(questions, "questions")
    assert "questions.forced" in {test.name for test in found if test.examples}


def test_an_error_from_inside_is_not_taken_for_a_wrong_call() -> None:
    def score(_frame: Any, _candidate: Any) -> float:
        return 1.0

    with pytest.raises(TypeError, match="a truth value is not a quantity"):
        WORLD["curator"]().choose(["a", "b"], score, sensitivity=True, epsilon=1)
    with pytest.raises(TypeError, match=r"\(\) takes 0 positional arguments but 1 was given"):
        WORLD["est"].map(lambda: 0, lambda: 0)
