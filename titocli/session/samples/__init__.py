"""Training samples of a session: turns of each leaf, trimmed, bounded, merged, picked, owned."""

from titocli.session.samples.assembly import SampleSet, collect_samples, samples
from titocli.session.samples.sample import Sample, SampleStatus

__all__ = ["Sample", "SampleSet", "SampleStatus", "collect_samples", "samples"]
