"""Hidden cases: the functions of the notebooks get all points, wrong versions do not, and a seed fixes the cases."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.slowly import slowly
from toolkit.teaching.grading import _grade_function
from toolkit.teaching.hidden_cases import CASES, NOTEBOOKS, draw_cases
from toolkit.teaching.submission_process import _function_results
from toolkit.teaching.submissions import SubmittedNotebook, function_item

FOLDER = Path(__file__).parents[2] / "notebooks"
WRONG = {
    "my_attack": "return np.linalg.lstsq(groups.astype(float), answers)[0] > 0",
    "my_epsilon": "return sum(abs(np.log(float(first[k] / second[k]))) for k in first)",
    "my_warner": "return np.where(rng.random(len(answers)) < p, answers, rng.random(len(answers)) < 0.5)",
    "my_estimate": "return np.linalg.solve(matrix, reported)",
    "my_times": "return 1 / (s - f) ** 2",
    "my_limit": "return np.log(after / before)",
    "my_belief": "o = before / (1 - before) * np.exp(max(epsilons)); return o / (1 + o)",
    "my_people": "return int((1.959964 / margin) ** 2 * prevalence * (1 - prevalence))",
    "my_laplace": "return value + rng.normal(0, sensitivity / epsilon, len(value))",
    "my_choice": "w = np.exp(epsilon * (scores - scores.max()) / sensitivity); return w / w.sum()",
    "my_vector": "return rng.laplace(0, 1 / epsilon, d)",
    "my_log_likelihood": "return np.log(1 / (1 + np.exp(-x @ b))).sum()",
    "my_log_ratio": "return a * (np.log1p(np.abs(z - 1) / c) - np.log1p(np.abs(z) / c))",
    "my_totals": "return np.cumsum(np.add(counts, noise)).tolist()",
    "my_step": "return gradients.sum(axis=0) + 2 * limit / np.sqrt(2 * rho) * normal",
    "my_table": "return max(cells for cells in sizes if np.log(20) / epsilon <= share * n / cells)",
    "my_prediction": "return n * share - 1.96 * np.sqrt(n * share), n * share + 1.96 * np.sqrt(n * share)",
    "my_audit": "return max(np.log(np.mean(fresh[0] < cut) / np.mean(fresh[1] < cut)) for cut in cuts)",
    "my_corrected": "return 2 * said.mean() - 0.5",
}


def function_source(name):
    """The function as the notebook of its author has it."""
    for path in FOLDER.glob(f"{NOTEBOOKS[name]}*".replace(".", "_", 1)):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if source.startswith(f"def {name}("):
                return source
    raise AssertionError(name)


def mark(name, source, seed):
    """The mark of a function, called in this process."""
    cases = draw_cases(name, seed)
    item = json.loads(json.dumps(function_item(SubmittedNotebook(("import numpy as np", source)), name, 1, cases)))
    return _grade_function(name, cases, json.loads(json.dumps(_function_results(item))))


FAST = {"my_limit", "my_belief", "my_times", "my_choice", "my_totals", "my_table", "my_prediction"}


@pytest.mark.parametrize("name", slowly(NOTEBOOKS, set(NOTEBOOKS) - FAST))
def test_the_notebooks_own_function_gets_all_points_and_a_wrong_one_none(name):
    source = function_source(name)
    for seed in (1, 2):
        result = mark(name, source, seed)
        assert (result.points, result.message) == (CASES, "right.")
    head = source.splitlines()[0]
    assert mark(name, f"{head}\n    {WRONG[name]}", 1).points == 0


def test_cases_depend_on_the_seed_and_the_student_alone():
    def arguments(seed, student=""):
        return [case.arguments for case in draw_cases("my_limit", seed, student)]

    assert arguments(1) == arguments(1)
    assert arguments(1, "anna") == arguments(1, "anna")
    others = [arguments(1), arguments(2), arguments(1, "anna"), arguments(1, "berta")]
    assert len({str(drawn) for drawn in others}) == len(others)


def test_a_function_is_called_with_fresh_arguments_in_each_case():
    """One that changes its arguments does not change what it is compared with."""
    source = "def my_choice(scores, sensitivity, epsilon):\n    scores *= 0\n    return scores"
    assert mark("my_choice", source, 1).points == 0
    assert np.any(draw_cases("my_choice", 1)[0].arguments[0] != 0)
