"""What is gained when nobody knows who was in the sample at all.

**It may be claimed only if** nobody but the sampler learns who is in the sample.
"""

import math
from fractions import Fraction

from toolkit.core.checks import Number, exact, explains, refuse
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.rounding import exp_below, log_up


@explains("subsampled(Pure(1.0), 0.1)", rate="the chance to be in the sample")
def subsampled(loss: Loss, rate: Number) -> Pure | Approx:
    """What a release from a secret random sample costs: ln(1 + rate (e**epsilon - 1)), and rate * delta;
    rounded up.

    Either everybody is in the sample with probability `rate`, independently, and neighbours are "add_remove";
    or the sample is a fixed number of a known population, `rate` is the quotient, and neighbours are
    "replace". See the head of this module for when the result may be claimed.

    >>> subsampled(Pure(1.0), rate=0.01)
    Pure(0.0170369)

    References: B. Balle, G. Barthe and M. Gaboardi, Privacy amplification by subsampling (2018).
    """
    share = exact(rate, "rate")
    if not 0 <= share <= 1:
        refuse("`rate` must lie between 0 and 1", rate, "it is the chance to be in the sample")
    if isinstance(loss, Zcdp) or not isinstance(loss, Pure | Approx):
        refuse(
            "`loss` must be Pure or Approx",
            type(loss).__name__,
            "convert a Zcdp first with .to_approx(delta)",
            TypeError,
        )
    epsilon = math.inf if share else 0.0
    if loss.amount != math.inf and loss.amount < 700:
        above = 1 / exp_below(-Fraction(loss.amount))
        epsilon = log_up(1 + share * (above - 1)) if above > 1 else 0.0
    amount = min(epsilon, loss.epsilon)
    return Pure(amount) if isinstance(loss, Pure) else Approx(amount, share * loss.slack)
