"""Ask sensitive questions privately, and publish statistics privately.

A design is a matrix, a mechanism is a noise law, a loss is a value, an estimate is a number with its error; the ledger
is the only thing that remembers.
"""

from toolkit.budget.conditions import MISSING
from toolkit.budget.conditions import between
from toolkit.budget.curator import Curator
from toolkit.budget.currency import BudgetError
from toolkit.budget.ledger import Ledger
from toolkit.budget.planning import plan
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.selection import Exponential
from toolkit.collecting import collect
from toolkit.core.composition import compose
from toolkit.core.estimate import Estimate
from toolkit.core.intervals import Interval
from toolkit.core.loss import Approx
from toolkit.core.loss import Pure
from toolkit.core.loss import Zcdp
from toolkit.local.design import Design
from toolkit.local.questions import crosswise
from toolkit.local.questions import forced
from toolkit.local.questions import forced_options
from toolkit.local.questions import k_ary
from toolkit.local.questions import kuk
from toolkit.local.questions import mangat
from toolkit.local.questions import triangular
from toolkit.local.questions import unrelated
from toolkit.local.questions import warner
from toolkit.survey.question import Question
from toolkit.survey.spec import Survey
