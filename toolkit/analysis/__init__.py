"""From reports to findings, without a `Survey`: estimates by group, samples, models, from a frame and its designs."""

from toolkit.analysis import latent
from toolkit.analysis.associations import Association, association
from toolkit.analysis.estimating import estimates
from toolkit.analysis.findings import Findings
from toolkit.analysis.homogeneity import homogeneity
from toolkit.analysis.mixed import mixed_logistic
from toolkit.analysis.plain import plain
from toolkit.analysis.regression import compare_models, linear, logistic, multinomial, predictor
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample
from toolkit.analysis.tipping import bounds, sensitivity, tipping_point
from toolkit.analysis.twogroup import (
    cheater_detection,
    double_list,
    extended_crosswise,
    item_sum,
    lie_detector,
    list_experiment,
    list_with_direct,
    unknown_question,
)

__all__ = [
    "Association",
    "Findings",
    "Replicates",
    "Sample",
    "association",
    "bounds",
    "cheater_detection",
    "compare_models",
    "double_list",
    "estimates",
    "extended_crosswise",
    "homogeneity",
    "item_sum",
    "latent",
    "lie_detector",
    "linear",
    "list_experiment",
    "list_with_direct",
    "logistic",
    "mixed_logistic",
    "multinomial",
    "plain",
    "predictor",
    "sensitivity",
    "tipping_point",
    "unknown_question",
]
