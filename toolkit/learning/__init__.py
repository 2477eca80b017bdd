"""Private learners with the interface of scikit-learn: classifiers, linear regression and principal components."""

from toolkit.core.extras import check_extras

check_extras("sklearn")  # so that a missing package causes a readable error

from toolkit.learning.choosing import best_of, choose_classifier
from toolkit.learning.classifiers import PrivateLogisticRegression, PrivateSVC
from toolkit.learning.holdout import Thresholdout
from toolkit.learning.moments import PrivateLinearRegression, PrivatePCA

__all__ = [
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePCA",
    "PrivateSVC",
    "Thresholdout",
    "best_of",
    "choose_classifier",
]
