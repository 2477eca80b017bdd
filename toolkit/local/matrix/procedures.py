"""What respondents do to produce a report, where the probabilities of a design alone do not say it."""

from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Labels
from toolkit.core.checks import choice, reject

Procedure = Literal["forced", "crosswise", "triangular", "unrelated"]

COMPARISON = ("different", "same")
"""Reports of a crosswise design."""
NEITHER = ("neither", "at least one")
"""Reports of a triangular design."""


def fits(procedure: str, weights: npt.NDArray[np.int64], report_options: Labels) -> bool:
    """Return whether a design with these weights and reports can be carried out by a procedure."""
    if procedure == "forced":
        return True
    if weights.shape != (2, 2):
        return False
    if procedure == "crosswise":  # the last report means that both answers are the same
        return np.array_equal(weights, weights[::-1, ::-1]) and report_options[0] != COMPARISON[1]
    return procedure == "unrelated" or weights[1, 0] == 0


def infer(weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Return the procedure that the reports themselves name: whether two answers are the same, or both are no."""
    named: dict[Labels, Procedure] = {COMPARISON: "crosswise", NEITHER: "triangular"}
    procedure = named.get(report_options)
    return procedure if procedure is not None and fits(procedure, weights, report_options) else None


def checked(procedure: object, weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Return a procedure that was given, or the inferred one; refuse one that has other probabilities."""
    if procedure is None:
        return infer(weights, report_options)
    known = cast("Procedure", choice(procedure, "procedure", get_args(Procedure)))
    if not fits(known, weights, report_options):
        reject(f"the weights and reports must be those of a {known} design", "others", "leave `procedure` out")
    return known


def saved(name: str, weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Return the procedure of saved data without the field: earlier versions took it from the name of the design."""
    named: dict[str, Procedure] = {"crosswise": "crosswise", "triangular": "triangular", "unrelated": "unrelated"}
    procedure = "forced" if "forced" in name else named.get(name)
    if procedure is not None and fits(procedure, weights, report_options):
        return procedure
    return infer(weights, report_options)
