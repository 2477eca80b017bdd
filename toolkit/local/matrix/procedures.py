"""Procedures by which respondents produce a report, for designs whose probabilities do not determine the procedure."""

from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Labels
from toolkit.core.checks import check_choice, reject

Procedure = Literal["forced", "crosswise", "triangular", "unrelated"]

COMPARISON_REPORTS = ("different", "same")
"""The reports of a crosswise design."""
NEITHER_REPORTS = ("neither", "at least one")
"""The reports of a triangular design."""


def procedure_fits(procedure: str, weights: npt.NDArray[np.int64], report_options: Labels) -> bool:
    """Return whether a design with these weights and reports can be carried out by a procedure."""
    if procedure == "forced":
        return True
    if weights.shape != (2, 2):
        return False
    if procedure == "crosswise":  # the last report means that both answers are the same
        return np.array_equal(weights, weights[::-1, ::-1]) and report_options[0] != COMPARISON_REPORTS[1]
    return procedure == "unrelated" or weights[1, 0] == 0


def infer_procedure(weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Infer the procedure from the labels of the reports: whether two answers are the same, or whether both are no."""
    by_name: dict[Labels, Procedure] = {COMPARISON_REPORTS: "crosswise", NEITHER_REPORTS: "triangular"}
    procedure = by_name.get(report_options)
    return procedure if procedure is not None and procedure_fits(procedure, weights, report_options) else None


def checked_procedure(procedure: object, weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Check a procedure against the weights and the reports; infer it if it is None."""
    if procedure is None:
        return infer_procedure(weights, report_options)
    valid = cast("Procedure", check_choice(procedure, "procedure", get_args(Procedure)))
    if not procedure_fits(valid, weights, report_options):
        reject(f"the weights and reports must be those of a {valid} design", "others", "leave `procedure` out")
    return valid


def procedure_of_saved_design(name: str, weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Return the procedure of a design that an earlier version saved without one; the name then determines it."""
    by_name: dict[str, Procedure] = {"crosswise": "crosswise", "triangular": "triangular", "unrelated": "unrelated"}
    procedure = "forced" if "forced" in name else by_name.get(name)
    if procedure is not None and procedure_fits(procedure, weights, report_options):
        return procedure
    return infer_procedure(weights, report_options)
