"""Audits of privacy claims: statistical for any mechanism that can be run, exact for a declared output distribution."""

from toolkit.audit.auditor import audit, exact_delta, exact_epsilon
from toolkit.audit.bounds import advantage, clopper_pearson, delta_bound, epsilon_bound
from toolkit.audit.replay import Replay, replay
from toolkit.audit.running import law_of
from toolkit.audit.verdict import Trial, Verdict

__all__ = [
    "Replay",
    "Trial",
    "Verdict",
    "advantage",
    "audit",
    "clopper_pearson",
    "delta_bound",
    "epsilon_bound",
    "exact_delta",
    "exact_epsilon",
    "law_of",
    "replay",
]
