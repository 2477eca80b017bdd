"""Asymptotic privacy and noisy gradient descent for robust statistics, for the course."""

from toolkit.teaching.robust.asymptotic import AvellaMedina, chaudhuri_hsu
from toolkit.teaching.robust.descent import NoisyDescent

__all__ = ["AvellaMedina", "NoisyDescent", "chaudhuri_hsu"]
