"""What the course needs of robust statistics: asymptotic promises, and descent with noisy gradients."""

from toolkit.core.loss import AsymptoticPromise
from toolkit.teaching.robust.asymptotic import AvellaMedina, chaudhuri_hsu
from toolkit.teaching.robust.descent import NoisyDescent

__all__ = ["AsymptoticPromise", "AvellaMedina", "NoisyDescent", "chaudhuri_hsu"]
