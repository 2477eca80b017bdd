"""Stan programs of fitted models: the likelihood of the fit, to which priors can be added.

A program computes `share`, each person's probability of each possible truth, and multiplies it by the probability of
the observed report given each truth, which is part of the data. Labels are kept out of the program, because a label may
contain any text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from toolkit.analysis.regression.rows import Channel
from toolkit.core.arrays import Array, Codes
from toolkit.core.checks import reject

FLAT_PRIORS = (
    "// Priors are flat. Write yours in place of this line: the likelihood of randomized reports does not fall to 0",
    "// where coefficients grow, so a posterior needs proper priors, such as beta ~ normal(0, 2.5);",
)
SOFTMAX_SHARES = ("matrix[N, T] share;", "for (n in 1:N) {", "  share[n] = softmax(eta[n]')';", "}")
LINK_FUNCTIONS = {"logit": "inv_logit", "probit": "Phi", "cloglog": "inv_cloglog"}


@dataclass(frozen=True)
class StanModel:
    """A Stan program with its data, from the method `to_stan` of a fit.

    Parameters
    ----------
    program : str
        The text of the program.
    data : dict
        The values of the data block, as lists and numbers: the argument `data` of cmdstanpy.
    labels : dict
        The label of each coefficient by its name in the program, such as {"beta[2]": "age"}.

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.analysis import logistic
    >>> coin = warner("3/4")
    >>> fit = logistic(coin.randomize(np.arange(200) % 3 == 0, rng=np.random.default_rng(1)), np.ones((200, 0)), coin)
    >>> model = fit.to_stan(priors="beta ~ normal(0, 2.5);")
    >>> model.labels, model.data["N"], "beta ~ normal(0, 2.5);" in model.program
    ({'beta[1]': 'Intercept'}, 200, True)
    """

    program: str
    data: dict[str, Any]
    labels: dict[str, str]

    def __repr__(self) -> str:
        return f"<StanModel: {self.data['N']:,} rows, {', '.join(self.labels)}>"

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write the program to `model.stan` and the data to `data.json`.

        Parameters
        ----------
        folder : path
            The folder, which is made if it does not exist.

        Returns
        -------
        tuple of Path
            The files of the program and of the data.
        """
        program, data = Path(folder) / "model.stan", Path(folder) / "data.json"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(self.program, encoding="utf-8")
        data.write_text(json.dumps(self.data, allow_nan=False), encoding="utf-8")
        return program, data


class StanVariable(NamedTuple):
    """A variable of the data block: its declaration, which ends with its name, its value, and what it holds."""

    declaration: str
    value: Any
    meaning: str


@dataclass(frozen=True)
class StanBlocks:
    """The blocks of a program, line by line; `labels` are those of `StanModel`."""

    labels: Mapping[str, str]
    parameters: tuple[str, ...]
    model: tuple[str, ...]
    data: tuple[StanVariable, ...] = ()
    transformed_data: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()

    def with_reports(self, matrices: Sequence[Array], design_index: Codes, codes: Codes) -> "StanBlocks":
        """Return the blocks of a program whose `model` computes `share`, with the likelihood of the reports.

        Each design has a matrix of report probabilities, one row per truth. The matrices may differ in their number of
        columns.
        """
        n_truths, n_reports = len(matrices[0]), max(matrix.shape[1] for matrix in matrices)
        padded = [np.pad(matrix, ((0, 0), (0, n_reports - matrix.shape[1]))) for matrix in matrices]
        reports = (
            StanVariable("int<lower=1> D", len(padded), "designs"),
            StanVariable("int<lower=1> T", n_truths, "possible truths"),
            StanVariable("int<lower=1> R", n_reports, "possible reports"),
            StanVariable("array[D] matrix<lower=0, upper=1>[T, R] P", padded, "P[d, t, r] = Pr(report r | truth t)"),
            StanVariable("array[N] int<lower=1, upper=D> design", design_index + 1, "design of each row"),
            StanVariable("array[N] int<lower=1, upper=R> y", codes + 1, "report of each row"),
        )
        likelihood = (
            "matrix[N, T] likelihood;  // Pr(observed report | truth)",
            "for (n in 1:N) {",
            "  for (t in 1:T) {",
            "    likelihood[n, t] = P[design[n], t, y[n]];",
            "  }",
            "}",
        )
        target = "target += dot_product(people, log(rows_dot_product(share, likelihood)));"
        return replace(
            self,
            data=(*reports, *self.data),
            transformed_data=(*likelihood, *self.transformed_data),
            model=(*self.model, target),
        )

    def with_channel(self, channel: Channel, option_order: Sequence[int]) -> "StanBlocks":
        """Return the blocks with the likelihood of these reports, with the options in this order."""
        matrices = [design.matrix[list(option_order)] for design in channel.designs]
        return self.with_reports(matrices, channel.design_index, channel.codes)

    def to_model(self, title: str, row_weights: Array, priors: str | None, notes: Sequence[str] = ()) -> StanModel:
        """Return the program; `row_weights` is the number of people in each row."""
        rows = (
            StanVariable("int<lower=1> N", len(row_weights), "rows of the data"),
            StanVariable("vector<lower=0>[N] people", row_weights, "people in each row"),
        )
        variables = (*rows, *self.data)
        blocks = {
            "functions": self.functions,
            "data": [f"{declaration};  // {meaning}" for declaration, _, meaning in variables],
            "transformed data": self.transformed_data,
            "parameters": self.parameters,
            "model": (*_prior_lines(priors), *self.model),
        }
        program = [f"// {line}\n" for line in (title, *notes)]
        for name, lines in blocks.items():
            if lines:
                program += [f"{name} {{\n", *(f"  {line}\n" for line in lines), "}\n"]
        data = {declaration.split()[-1]: _plain(value) for declaration, value, _ in variables}
        return StanModel("".join(program), data, dict(self.labels))


@runtime_checkable
class StanDistribution(Protocol):
    """A distribution of coded responses whose likelihood can be written in Stan.

    Its `model` reads the linear predictors as vectors `eta_NAME`; `labels` and `parameters` are empty.
    """

    def stan_blocks(self, responses: Codes, /) -> StanBlocks: ...


def covariates_in_stan(matrix: Array, suffix: str = "") -> tuple[StanVariable, ...]:
    """Return the matrix of covariates `X` with its number of columns `K`."""
    columns = f"K{suffix}"
    return (
        StanVariable(f"int<lower=0> {columns}", matrix.shape[1], f"columns of X{suffix}"),
        StanVariable(f"matrix[N, {columns}] X{suffix}", matrix, "covariates"),
    )


def stan_name(name: str) -> str:
    """Return the name of a linear predictor as an identifier of Stan."""
    return re.sub(r"\W", "_", name) or "trait"


def element_labels(name: str, labels: Sequence[object]) -> dict[str, str]:
    """Return the labels of the elements of a vector of the program."""
    return {f"{name}[{index}]": str(label) for index, label in enumerate(labels, 1)}


def _prior_lines(priors: object) -> Sequence[str]:
    if priors is None:
        return FLAT_PRIORS
    if not isinstance(priors, str):
        remedy = 'write statements of Stan, as in "beta ~ normal(0, 2.5);"'
        reject("`priors` must be a text", type(priors).__name__, remedy, TypeError)
    return priors.splitlines()


def _plain(value: Any) -> Any:
    """Return arrays as nested lists."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
