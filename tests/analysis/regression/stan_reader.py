"""A reader of the part of Stan that the package writes: it evaluates the text of a program, in independent code.

Each statement stands on a line of its own. A line of Stan is rewritten as a line of Python, in which vectors and
matrices count from 1 and `*` is the product of matrices.
"""

import importlib.util
import math
import re
import subprocess
from pathlib import Path

import numpy as np
from scipy.special import expit, log_softmax
from scipy.stats import norm


class Values(np.ndarray):
    """An array that counts from 1; `*` multiplies matrices, `%` stands for `.*` and `//` for `./`."""

    def __getitem__(self, index):
        return _values(np.asarray(self)[_from_zero(index, self.shape)])

    def __setitem__(self, index, value):
        np.asarray(self)[_from_zero(index, self.shape)] = value

    def __mul__(self, other):
        return np.matmul(self, other) if np.ndim(self) and np.ndim(other) else np.multiply(self, other)

    def __mod__(self, other):
        assert np.shape(self) == np.shape(other), "elementwise products are of equal shapes"
        return np.multiply(self, other)


def _from_zero(index, shape):
    def shifted(position, size):
        if isinstance(position, slice):
            return position
        positions = np.asarray(position).astype(int)
        assert np.all((positions >= 1) & (positions <= size)), f"an index is not within 1..{size}"
        return positions - 1

    indices = index if isinstance(index, tuple) else (index,)
    return tuple(shifted(position, size) for position, size in zip(indices, shape, strict=False))


def _values(array):
    return np.asarray(array).view(Values) if np.ndim(array) else np.asarray(array).item()


def _columns(*parts):
    return _values(np.column_stack(parts))


def _log_choose(size, count):
    return math.log(math.comb(size, count))


def _log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


FUNCTIONS = {
    "inv_logit": expit,
    "Phi": norm.cdf,
    "inv_cloglog": lambda eta: 1 - np.exp(-np.exp(eta)),
    "log": np.log,
    "exp": np.exp,
    "softmax": lambda eta: _values(np.exp(log_softmax(eta))),
    "append_col": _columns,
    "rep_vector": lambda value, size: _values(np.full(size, float(value))),
    "dot_product": np.dot,
    "rows_dot_product": lambda a, b: _values((np.asarray(a) * np.asarray(b)).sum(axis=1)),
    "std_normal_lpdf": lambda z: norm.logpdf(z).sum(),
    "binomial_logit_lpmf": lambda count, size, eta: (
        _log_choose(size, count) + count * eta - size * float(np.logaddexp(0, eta))
    ),
    "beta_binomial_lpmf": lambda count, size, a, b: (
        _log_choose(size, count) + _log_beta(count + a, size - count + b) - _log_beta(a, b)
    ),
}
_BLOCK = re.compile(r"^(functions|data|transformed data|parameters|model) \{\n(.*?)^\}\n", re.M | re.S)
_DECLARATION = re.compile(r"(?:array\[\w+\] )?(?:int|real|vector|matrix|ordered)(?:<[^>]*>)?(?:\[([^\]]*)\])? (\w+)$")


def log_density(model, **parameters):
    """Return the `target` of the program at these parameters, with its data."""
    blocks = dict(_BLOCK.findall(model.program))
    declared = {match[2] for match in map(_DECLARATION.match, _statements(blocks["data"])) if match}
    assert declared == set(model.data), "the data block declares what the data have"
    scope = {**FUNCTIONS, **{name: _values(value) for name, value in {**model.data, **parameters}.items()}}
    names = {match[2] for match in map(_DECLARATION.match, _statements(blocks["parameters"])) if match}
    assert names == set(parameters)
    scope["target"] = 0.0
    for name in ("functions", "transformed data", "model"):
        exec("\n".join(_python(blocks.get(name, ""))), scope)  # noqa: S102
    return float(scope["target"])


def accept(model):
    """Let Stan's own compiler read the program, if the package httpstan, which has it, is installed."""
    found = importlib.util.find_spec("httpstan")
    if found is not None:
        compiler = [str(Path(found.origin).with_name("stanc")), "--o=/dev/null", "/dev/stdin"]
        subprocess.run(compiler, input=model.program, text=True, check=True)


def _statements(block):
    lines = (re.sub(r"//.*", "", line).strip() for line in block.splitlines())
    return [line.removesuffix(";") for line in lines if line]


def _python(block):
    depth = 0
    for statement in _statements(block):
        if statement == "}":
            depth -= 1
            continue
        yield "    " * depth + _line(statement)
        depth += statement.endswith("{")


def _line(text):
    if loop := re.fullmatch(r"for \((\w+) in (.+?):(.+)\) \{", text):
        return f"for {loop[1]} in range({loop[2]}, ({loop[3]}) + 1):"
    if function := re.fullmatch(r"real (\w+)\((.*)\) \{", text):
        return f"def {function[1]}({re.sub(r'(int|real) ', '', function[2])}):"
    if empty := _DECLARATION.fullmatch(text):
        return f"{empty[2]} = rep_vector(0, ({empty[1]}))"
    text = re.sub(r"^(?:real|vector|matrix)(?:\[[^\]]*\])? (?=\w+ = )", "", text)
    text = re.sub(r"(\w+_lpmf\()([^|]*) \| ", r"\1\2, ", text)
    text = text.replace(".*", "%").replace("./", "//").replace("||", "or").replace("[,", "[:,").replace("'", ".T")
    return re.sub(r"(= |return )(.+?) \? (.+) : (.+)$", _conditional, text)


def _conditional(match):
    start, condition, value, other = match.groups()
    if " ? " in other or " ? " in value:
        raise AssertionError("nested conditions are not read")
    return f"{start}({value}) if ({condition}) else ({other})"
