"""Learn from people, not about them: classifiers, regression and components whose weights promise privacy, in
scikit-learn's form.
"""

from toolkit.core.extras import check_extras

check_extras("sklearn")  # a sentence, before it is imported

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
