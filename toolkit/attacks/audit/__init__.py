"""Is it as private as it says? An audit for anything that can be run, and exact answers where there are few outputs."""

from toolkit.attacks.audit.auditor import audit, exact_delta, exact_epsilon
from toolkit.attacks.audit.bounds import clopper_pearson, delta_bound, epsilon_bound
from toolkit.attacks.audit.replay import Replay
from toolkit.attacks.audit.verdict import Trial, Verdict

__all__ = [
    "Replay",
    "Trial",
    "Verdict",
    "audit",
    "clopper_pearson",
    "delta_bound",
    "epsilon_bound",
    "exact_delta",
    "exact_epsilon",
    "replay",
]
