"""Analysis of reports without a `Survey`: estimates by group, samples and models, from a frame and its designs."""

from toolkit.analysis.associations import Association, association
from toolkit.analysis.estimating import estimates
from toolkit.analysis.findings import Findings
from toolkit.analysis.homogeneity import TableTest, homogeneity
from toolkit.analysis.latent.group_counts import Cheating, ExtendedCrosswise, Lying, ModelTest, Unknown
from toolkit.analysis.latent.list_counts import CombinedList, ListExperiment, double_list, item_sum, list_with_direct
from toolkit.analysis.latent.lists import ListFit, list_experiment
from toolkit.analysis.latent.multiple_list import MultipleListFit, multiple_list
from toolkit.analysis.latent.two_groups import cheater_detection, extended_crosswise, lie_detector, unknown_question
from toolkit.analysis.mixed import MixedFit, mixed_logistic
from toolkit.analysis.mixed_effects import MixedEffectsFit
from toolkit.analysis.noncompliance import (
    ComplianceSensitivity,
    IdentificationBounds,
    TippingPoint,
    compliance_sensitivity,
    identification_bounds,
    tipping_point,
)
from toolkit.analysis.plain import plain
from toolkit.analysis.regression.anchor import Anchor
from toolkit.analysis.regression.anchored import AnchoredFit
from toolkit.analysis.regression.diagnostics import GoodnessOfFit
from toolkit.analysis.regression.fit import Comparison, Fit, PredictiveFit
from toolkit.analysis.regression.latent_model import LatentFit
from toolkit.analysis.regression.linear import LinearFit, linear
from toolkit.analysis.regression.logistic import LogisticFit, logistic
from toolkit.analysis.regression.multinomial import MultinomialFit, multinomial
from toolkit.analysis.regression.ordinal import OrdinalFit, ordinal
from toolkit.analysis.regression.predictor import PredictorFit, predictor
from toolkit.analysis.regression.stan import StanModel
from toolkit.analysis.regression.tables import compare_models
from toolkit.analysis.reports import GroupEstimate
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.fit_table import FitTable

__all__ = [
    "Anchor",
    "AnchoredFit",
    "Association",
    "Cheating",
    "CombinedList",
    "Comparison",
    "ComplianceSensitivity",
    "ExtendedCrosswise",
    "Findings",
    "Fit",
    "FitTable",
    "GoodnessOfFit",
    "GroupEstimate",
    "IdentificationBounds",
    "LatentFit",
    "LinearFit",
    "ListExperiment",
    "ListFit",
    "LogisticFit",
    "Lying",
    "MixedEffectsFit",
    "MixedFit",
    "ModelTest",
    "MultinomialFit",
    "MultipleListFit",
    "OrdinalFit",
    "PredictiveFit",
    "PredictorFit",
    "Replicates",
    "Sample",
    "StanModel",
    "TableTest",
    "TippingPoint",
    "Unknown",
    "association",
    "cheater_detection",
    "compare_models",
    "compliance_sensitivity",
    "double_list",
    "estimates",
    "extended_crosswise",
    "homogeneity",
    "identification_bounds",
    "item_sum",
    "lie_detector",
    "linear",
    "list_experiment",
    "list_with_direct",
    "logistic",
    "mixed_logistic",
    "multinomial",
    "multiple_list",
    "ordinal",
    "plain",
    "predictor",
    "tipping_point",
    "unknown_question",
]
