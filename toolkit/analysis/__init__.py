"""From reports to findings, without a `Survey`: from a frame and its designs."""

from toolkit.analysis.sampling.replicates import Replicates
from toolkit.analysis.sampling.sample import Sample

__all__ = ["Replicates", "Sample"]
