"""From reports to findings, without a `Survey`: from a frame and its designs."""

from toolkit.analysis.associations import Association, association
from toolkit.analysis.equal_shares import homogeneity
from toolkit.analysis.estimating import estimates
from toolkit.analysis.findings import Findings
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample
from toolkit.analysis.tipping import tipping_point

__all__ = [
    "Association",
    "Findings",
    "Replicates",
    "Sample",
    "association",
    "estimates",
    "homogeneity",
    "tipping_point",
]
