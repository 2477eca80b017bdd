"""The check after each function that a student writes rejects the most likely wrong versions and names the
wrong step.
"""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.test_notebook_asserts import FOLDER, _code_cells, _needed, _run
from toolkit.teaching.mistakes import MISTAKES

NOTEBOOKS = {
    "my_attack": "01",
    "my_epsilon": "02",
    "my_warner": "03",
    "my_estimate": "03",
    "my_times": "04",
    "my_limit": "05",
    "my_belief": "05",
    "my_people": "06",
    "my_laplace": "07",
    "my_choice": "07",
    "my_vector": "07",
    "my_log_likelihood": "09",
    "my_log_ratio": "10",
    "my_step": "11",
    "my_totals": "12",
    "my_audit": "13",
    "my_table": "14",
    "my_prediction": "15",
    "my_corrected": "16",
}
WRONG = {
    "my_attack": [
        ("return np.linalg.lstsq(groups.astype(float), answers)[0]", "Compare each with one half"),
        ("return np.linalg.lstsq(groups.astype(float), answers)[0] > 0", "one half, not zero"),
        ("return np.linalg.lstsq(groups.astype(float), answers)[0] < 0.5", "these are the people below"),
        ("return groups.T @ answers / groups.sum(axis=0) > np.mean(answers)", "groups overlap"),
        ("return np.linalg.lstsq(groups.astype(float), answers)", "Return the result alone"),
        ("return np.linalg.solve(groups.astype(float), answers) > 0.5", "stopped in its line 2"),
    ],
    "my_epsilon": [
        ("return max(max(first[k] / second[k], second[k] / first[k]) for k in first)", "Epsilon is its logarithm"),
        ("return np.log(float(max(first[k] / second[k] for k in first)))", "first / second only"),
        ("return np.log(float(max(second[k] / first[k] for k in first)))", "second / first only"),
        ("return sum(abs(np.log(float(first[k] / second[k]))) for k in first)", "not their sum"),
        ("return max(abs(first[k] - second[k]) for k in first)", "by their ratio"),
        ("return max(abs(np.log2(float(first[k] / second[k]))) for k in first)", "natural logarithm"),
        ("return np.log(max(first[k] / second[k] for k in first))", "convert them with float"),
    ],
    "my_warner": [
        ("return np.where(rng.random(len(answers)) < p, ~answers, answers)", "It must be 1 - p"),
        (
            "return np.where(rng.random(len(answers)) < p, answers, rng.random(len(answers)) < 0.5)",
            "report the opposite",
        ),
        ("return answers if rng.random() < p else ~answers", "one random number for each answer"),
        ("return np.where(rng.random(len(answers)) < p, answers, True)", "Turn the yes around"),
        ("return np.where(rng.random(len(answers)) < p, answers, False)", "Turn the no around"),
        ("return np.where(rng.random(len(answers)) < 2 / 3, answers, ~answers)", "Use p"),
        ("return [a if rng.random() < p else not a for a in answers[1:]]", "and returned 99999 numbers"),
    ],
    "my_estimate": [
        ("return np.linalg.solve(matrix, reported)", "transpose the matrix"),
        ("return np.linalg.inv(matrix) @ reported", "transpose the matrix"),
        ("return reported @ matrix", "Solve for x"),
        ("return matrix @ reported", "Solve for x"),
        ("return reported", "shares of the reports"),
        ("return np.linalg.solve(matrix.T, reported)[1]", "must return 2 numbers, and returned a number"),
    ],
    "my_times": [
        ("y = f + (s - f) * share; return y * (1 - y) / (s - f) / (share * (1 - share))", "square of s - f"),
        ("y = f + (s - f) * share; return y * (1 - y) / (s - f) ** 2", "that of asking directly"),
        ("y = f + (s - f) * share; return y * (1 - y) / (share * (1 - share))", "(s - f) squared"),
        ("return 1 / (s - f) ** 2", "Reports vary with"),
        ("y = s * share; return y * (1 - y) / (s - f) ** 2 / (share * (1 - share))", "people who did not do it"),
        ("y = f + (s - f) * share; return share * (1 - share) * (s - f) ** 2 / (y * (1 - y))", "upside down"),
    ],
    "my_limit": [
        ("return np.log(after / before)", "Compare odds"),
        ("return after / (1 - after) / (before / (1 - before))", "Epsilon is its logarithm"),
        ("return np.log(before / (1 - before) / (after / (1 - after)))", "The sign is wrong"),
        ("return after - before", "logarithm of a ratio"),
        ("pass", "returned nothing"),
    ],
    "my_belief": [
        ("return before * np.exp(sum(epsilons))", "turn the belief into odds"),
        ("return before / (1 - before) * np.exp(sum(epsilons))", "odds / (1 + odds)"),
        ("o = before / (1 - before) * np.exp(max(epsilons)); return o / (1 + o)", "Only the largest epsilon"),
        ("o = before / (1 - before) * np.exp(np.mean(epsilons)); return o / (1 + o)", "mean of the epsilons"),
        ("o = before / (1 - before) * sum(epsilons); return o / (1 + o)", "power of epsilon"),
        ("o = before / (1 - before) / np.exp(sum(epsilons)); return o / (1 + o)", "multiply the odds"),
        ("...", "returned nothing"),
    ],
    "my_people": [
        ("{price}; return int((1.959964 / margin) ** 2 * (p + price))", "Round up"),
        ("{price}; return (1.959964 / margin) ** 2 * (p + price)", "round up"),
        ("{price}; return int(np.ceil((1.959964 / margin) ** 2 * p))", "without randomization"),
        ("{price}; return int(np.ceil((1.959964 / margin) ** 2 * price))", "the noise alone"),
        ("{price}; return int(np.ceil(1.959964 / margin * (p + price)))", "must be squared"),
        ("{price}; return int(np.ceil((p + price) / margin ** 2))", "1.96 standard errors"),
        ("{price}; return int(np.ceil((1.959964 / margin) ** 2 * (p + price / e)))", "numerator"),
        ("{price}; return int(np.ceil((1.96 / margin) ** 2 * (p + price)))", "Use 1.959964"),
    ],
    "my_laplace": [
        ("return value + {sign} * rng.exponential(epsilon / sensitivity, len(value))", "upside down"),
        ("return value + {sign} * rng.exponential(1 / epsilon, len(value))", "multiplied by the sensitivity"),
        ("return value + {sign} * rng.exponential(sensitivity, len(value))", "divided by epsilon"),
        ("return value + {sign} * rng.exponential(sensitivity * epsilon, len(value))", "not multiplied"),
        ("return value + rng.normal(0, sensitivity / epsilon, len(value))", "normal numbers"),
        ("return value + {sign} * rng.exponential(sensitivity / epsilon)", "one random size for each"),
        ("return value + rng.exponential(sensitivity / epsilon, len(value))", "All noise is positive"),
        ("return value - rng.exponential(sensitivity / epsilon, len(value))", "All noise is negative"),
        ("return {sign} * rng.exponential(sensitivity / epsilon, len(value))", "Add it to the value"),
    ],
    "my_choice": [
        ("w = np.exp(epsilon * scores / sensitivity); return w / w.sum()", "a 2 below"),
        ("w = np.exp(epsilon * scores / 2); return w / w.sum()", "divided by the sensitivity"),
        ("w = np.exp(-epsilon * scores / (2 * sensitivity)); return w / w.sum()", "The worst wins"),
        ("return np.exp(epsilon * (scores - scores.max()) / (2 * sensitivity))", "Divide them by their sum"),
        ("return np.exp(epsilon * scores / (2 * sensitivity))", "Divide them by their sum"),
        ("return scores == scores.max()", "always takes the best"),
        ("return np.argmax(scores)", "and returned a number"),
    ],
    "my_vector": [
        ("u = rng.uniform(-1, 1, d); return u / np.linalg.norm(u) * rng.gamma(d) / epsilon", "likelier than others"),
        ("u = rng.choice([-1, 1], d); return u / np.linalg.norm(u) * rng.gamma(d) / epsilon", "Only the corners"),
        ("{direction}; return rng.gamma(d) * epsilon * u", "not multiplied"),
        ("{direction}; return rng.gamma(d) * u", "divided by epsilon"),
        ("{direction}; return rng.exponential() / epsilon * u", "Gamma(1)"),
        ("{direction}; return d / epsilon * u", "the same length"),
        ("return rng.normal(size=d) * rng.gamma(d) / epsilon", "Divide the normal vector"),
        ("return rng.laplace(0, 1 / epsilon, d)", "one direction and one length"),
        ("u = rng.random(d); return u / np.linalg.norm(u) * rng.gamma(d) / epsilon", "All coordinates are positive"),
    ],
    "my_log_likelihood": [
        ("{share}; return np.log(np.where(y == 1, share, 1 - share)).sum()", "each report for the truth"),
        ("{share}; return np.log(matrix[y, 0] * (1 - share) + matrix[y, 1] * share).sum()", "not matrix[y, 0]"),
        ("{share}; return np.log(matrix[1, y] * (1 - share) + matrix[0, y] * share).sum()", "exchanged"),
        (
            "share = 1 / (1 + np.exp(x @ b)); return np.log(matrix[0, y] * (1 - share) + matrix[1, y] * share).sum()",
            "exchanged",
        ),
        ("{share}; return np.log(matrix[0, y] * (1 - share) + matrix[1, y] * share).mean()", "the mean"),
        ("{share}; return np.log((matrix[0, y] * (1 - share) + matrix[1, y] * share).sum())", "logarithm of a sum"),
        ("{share}; return np.prod(matrix[0, y] * (1 - share) + matrix[1, y] * share)", "Add the logarithms"),
        ("{share}; return -np.log(matrix[0, y] * (1 - share) + matrix[1, y] * share).sum()", "The sign is wrong"),
        ("share = b @ x; return np.log(share).sum()", "stopped in its line 2"),
    ],
    "my_log_ratio": [
        ("{first}; return first + a * np.log1p(abs(z - 1) / (c * np.exp(t)))", "subtract t"),
        ("{first}; return -a * np.log1p(abs(z - 1) / (c * np.exp(t))) - t - first", "divided by the first"),
        ("{first}; return np.exp(first + a * np.log1p(abs(z - 1) / (c * np.exp(t))) + t)", "Its logarithm"),
        ("{first}; return first + a * np.log1p(abs(z - 1) / c) + t", "noise is wider"),
        ("{first}; return first + a * np.log1p(abs(z) / (c * np.exp(t))) + t", "1 higher"),
        ("{first}; return first + a * np.log1p(abs(z - 1) / (c * np.exp(t))) - t", "the difference larger"),
        ("return -a * np.log(1 + z / c) + a * np.log(1 + (z - 1) / (c * np.exp(t))) + t", "infinity or NaN"),
    ],
    "my_totals": [
        ("return np.cumsum(np.add(counts, noise))", "in every later total"),
        ("{blocks}; return blocks", "These are the blocks"),
        ("{blocks}; return np.cumsum(blocks)", "last week's total"),
        ("return np.cumsum(counts)", "no noise"),
        ("return np.cumsum(counts) + noise", "noise of its own"),
        ("return [0, *np.cumsum(counts)]", "Leave it out"),
        ("return [sum(counts[:week]) for week in range(51)]", "must return 52 numbers"),
    ],
    "my_step": [
        ("return (limit * gradients / {length}).sum(axis=0) + {noise}", "Short rows were made longer"),
        ("return gradients.clip(-limit, limit).sum(axis=0) + {noise}", "Each entry is clipped"),
        ("s = gradients.sum(axis=0); return s * min(1, limit / np.linalg.norm(s)) + {noise}", "Clip each row"),
        ("return gradients.sum(axis=0) + {noise}", "Nothing is clipped"),
        ("return {rows}.sum(axis=0) + {noise} / 2", "takes one row away"),
        ("return {rows}.sum(axis=0) + {noise} / limit", "grow with the limit"),
        ("return {rows}.sum(axis=0) + 2 * limit / (2 * rho) * normal", "root is missing"),
        ("return {rows}.mean(axis=0) + {noise}", "Add the rows up"),
        ("return {rows}.sum(axis=0)", "no noise"),
        ("return {rows}.sum(axis=0) - {noise}", "must be"),
        ("return {rows} + {noise}", "must return 3 numbers, and returned 50 by 3 numbers"),
    ],
    "my_table": [
        ("return max(c for c in sizes if np.log(20) / epsilon <= share * n / c)", "changes two cells"),
        ("return max(c for c in sizes if np.log(20) * 2 * c / epsilon <= share * n / c)", "one charge"),
        ("return min(c for c in sizes if np.log(20) * 2 / epsilon <= share * n / c)", "the coarsest"),
        ("return max(c for c in sizes if np.log(20) * 2 / epsilon <= share * n)", "the finest of all"),
        ("return max(c for c in sizes if 2 / epsilon <= share * n / c)", "more than a third"),
        ("return max(c for c in sizes if 8**0.5 / epsilon <= share * n / c)", "a quarter"),
        ("return max(c for c in sizes if 1.96 * 8**0.5 / epsilon <= share * n / c)", "normal noise"),
        ("return [c for c in sizes if np.log(20) * 2 / epsilon <= share * n / c]", "must return a number"),
    ],
    "my_prediction": [
        ("m = 1.96 * (n * share * (1 - share)) ** 0.5; return n * share - m, n * share + m", "not reports"),
        ("{y}; m = 1.96 * (n * share * (1 - share)) ** 0.5; return n * y - m, n * y + m", "add variance"),
        ("{y}; m = 1.96 * n * (y * (1 - y)) ** 0.5; return n * y - m, n * y + m", "The variances of n"),
        ("{y}; m = 1.96 * n * y * (1 - y); return n * y - m, n * y + m", "1.96 times the variance"),
        ("{y}; m = (n * y * (1 - y)) ** 0.5; return n * y - m, n * y + m", "Take 1.96"),
        ("{y}; m = 2 * (n * y * (1 - y)) ** 0.5; return n * y - m, n * y + m", "not 2"),
        ("{y}; m = 1.96 * (y * (1 - y) / n) ** 0.5; return y - m, y + m", "These are shares"),
        ("{y}; m = 3.92 * (n * y * (1 - y)) ** 0.5; return n * share - m, n * share + m", "predicts the estimate"),
        ("{y}; return 1.96 * (n * y * (1 - y)) ** 0.5", "must return 2 numbers, and returned a number"),
    ],
    "my_audit": [
        ("return max({bound} for cut in cuts for a, b in [{counts search}])", "partly luck"),
        ("return max({bound} for cut in cuts for a, b in [{counts fresh}])", "test one event only"),
        ("{cut ratio}; a, b = {counts fresh}; return {bound}", "Rare events"),
        ("{cut}; a, b = {counts fresh}; return np.log(a / b)", "four standard errors lower"),
        ("{cut}; a, b = {counts fresh}; return np.log(a / b) + 4 * {error}", "an upper bound"),
        ("{cut}; a, b = {counts fresh}; return np.log(a / b) - {error}", "Subtract four"),
        ("{cut}; a, b = {counts fresh}; return np.exp({bound})", "Epsilon is its logarithm"),
        ("{cut}; b, a = {counts fresh}; return {bound}", "the toolkit finds"),
        ("{cut}; a, b = {counts fresh}; return {bound}, cut", "must return a number, and returned 2 numbers"),
    ],
    "my_corrected": [
        ("return 2 * said.mean() - 0.5", "corrected by g"),
        ("return (2 * said.mean() - 0.5) / {g}", "the distance from one half"),
        ("return 0.5 + (2 * said.mean() - 1) / moon.mean()", "not the share of yes to the moon"),
        ("return 0.5 + (2 * said.mean() - 1) / (1 - {g})", "who do not follow"),
        ("return 0.5 + (said.mean() - 0.5) / {g}", "The coins are not undone"),
        ("return 0.5 + (2 * said.mean() - 1) * {g}", "Divide by g to undo it"),
    ],
}
SHORT = {
    "{price}": "e = np.exp(epsilon); price = e / (e - 1) ** 2; p = prevalence * (1 - prevalence)",
    "{sign}": "rng.choice([-1, 1], len(value))",
    "{direction}": "u = rng.normal(size=d); u /= np.linalg.norm(u)",
    "{share}": "share = 1 / (1 + np.exp(-x @ b))",
    "{first}": "first = -a * np.log1p(abs(z) / c)",
    "{blocks}": "blocks = [sum(counts[w - (w & -w) : w]) + noise[w - 1] for w in range(1, len(counts) + 1)]",
    "{rows}": "(gradients * np.minimum(1, limit / {length}))",
    "{length}": "np.linalg.norm(gradients, axis=1, keepdims=True)",
    "{noise}": "2 * limit / np.sqrt(2 * rho) * normal",
    "{y}": "y = 1 / 4 + share / 2",
    "{cut ratio}": "cut = cuts[np.argmax([a / b for cut in cuts for a, b in [{counts search}]])]",
    "{cut}": "cut = cuts[np.argmax([{bound} for cut in cuts for a, b in [{counts search}]])]",
    "{counts search}": "(search < cut).sum(axis=1)",
    "{counts fresh}": "(fresh < cut).sum(axis=1)",
    "{bound}": "np.log(a / b) - 4 * {error}",
    "{error}": "(1 / a + 1 / b - 2 / len(search[0])) ** 0.5",
    "{g}": "((0.5 - moon.mean()) / 0.25)",
}


def _replies(number: str) -> dict[str, str]:
    """Run the cells that a notebook's checks need, and each check with each wrong version; return the messages."""
    os.chdir(FOLDER)
    cells = _code_cells(number)
    checks = {
        "".join(cell["source"])[4:].partition("(")[0]: (cell, after)
        for cell, after in pairwise(cells)
        if "yours" in cell["metadata"].get("tags", [])
    }
    needed = _needed(cells, {after["id"] for _, after in checks.values()}) | {cells[0]["id"]}
    names: dict[str, object] = {}
    replies = {}
    for cell in cells:
        for name, (function, check) in checks.items():
            if cell is check:
                head = "".join(function["source"]).splitlines()[0]
                for version, _ in WRONG[name]:
                    scope, source = dict(names), version
                    for short, code in SHORT.items():
                        source = source.replace(short, code)
                    exec(f"{head}\n    {source}", scope)  # noqa: S102 — from the table above
                    try:
                        _run(check, scope)
                    except Exception as error:
                        replies[f"{name}: {version}"] = f"{type(error).__name__}: {error}"
        if cell["id"] in needed:
            _run(cell, names)
    return replies


@pytest.fixture(scope="module")
def replies() -> dict[str, str]:
    environment = os.environ | {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.teaching.test_mistakes"]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_the_check_of_a_notebook_names_the_wrong_step(name, replies):
    found = {version: replies.get(f"{name}: {version}", "accepted") for version, _ in WRONG[name]}
    assert {version: found[version] for version, reason in WRONG[name] if reason not in found[version]} == {}
    assert {reply.partition(":")[0] for reply in found.values()} == {"AssertionError"}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_written_function_has_three_known_mistakes(name):
    assert len(MISTAKES[name]) >= 3
    assert len(WRONG[name]) >= 3


def test_the_known_mistakes_are_those_of_functions_in_notebooks():
    cells = {number: _code_cells(number) for number in sorted(set(NOTEBOOKS.values()))}
    written = {
        "".join(cell["source"])[4:].partition("(")[0]: number
        for number, code in cells.items()
        for cell in code
        if "yours" in cell["metadata"].get("tags", [])
    }
    assert written == NOTEBOOKS
    assert set(MISTAKES) == set(WRONG) == set(NOTEBOOKS)


if __name__ == "__main__":
    answers: dict[str, str] = {}
    for notebook in sorted(set(NOTEBOOKS.values())):
        answers |= _replies(notebook)
    sys.stdout.write(json.dumps(answers))
