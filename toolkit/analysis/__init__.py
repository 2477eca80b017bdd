"""From reports to findings, without a `Survey`: from a frame and its designs."""

from toolkit.analysis.estimates import estimates
from toolkit.analysis.findings import Findings
from toolkit.analysis.homogeneity import homogeneity
from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample

__all__ = ["Findings", "Replicates", "Sample", "estimates", "homogeneity"]
