"""Pickers and postprocessors by name or dotted path, and the contract that they are held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from titocli.errors import SampleHookFailed, UnknownName
from titocli.jsonvalue import JsonObject
from titocli.session.dotted_path import load_function
from titocli.session.samples.ownership import POSTPROCESSORS, Postprocessor, default_postprocess
from titocli.session.samples.pickers import PICKERS, Picker, drop_retries_same_prompt
from titocli.session.samples.sample import Sample

DEFAULT_PICKER = drop_retries_same_prompt.__name__
DEFAULT_POSTPROCESSOR = default_postprocess.__name__
#: Characters of a hook's own error text that are passed on.
_MAX_ERROR_TEXT = 200

H = TypeVar("H", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleHooks:
    """A picker and a postprocessor with the names that errors call them by."""

    picker_name: str = DEFAULT_PICKER
    picker: Picker = drop_retries_same_prompt
    postprocessor_name: str = DEFAULT_POSTPROCESSOR
    postprocessor: Postprocessor = default_postprocess

    def apply(
        self, samples: Sequence[Sample], session_metadata: JsonObject, agent_metadata: JsonObject
    ) -> tuple[Sample, ...]:
        """Pick, then postprocess; raises ``SampleHookFailed`` for whatever goes wrong in a hook."""
        try:
            picked = _require_subset(samples, self.picker(tuple(samples), session_metadata))
            made = self.postprocessor(picked, session_metadata, agent_metadata)
            return _require_same(picked, made)
        except Exception as error:
            # A hook is somebody else's code: anything may come out of it.
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> SampleHookFailed:
        said = f"{type(error).__name__}: {error}"[:_MAX_ERROR_TEXT]
        return SampleHookFailed(
            f"session sample hook failed (picker={self.picker_name}, "
            f"postprocessor={self.postprocessor_name}): {said}",
            hint="the session is as it was: mend the hook and ask again",
            details={"picker": self.picker_name, "postprocessor": self.postprocessor_name},
        )


def sample_hooks(picker: str = DEFAULT_PICKER, postprocessor: str = DEFAULT_POSTPROCESSOR) -> SampleHooks:
    """The hooks of these names or dotted paths.

    Raises ``UnknownName`` for a name without a dot that is none, ``InvalidOption`` for a path that cannot be
    imported, is no function, or is asynchronous.
    """
    return SampleHooks(
        picker_name=picker,
        picker=_hook("sample picker", "--sample-picker", picker, PICKERS),
        postprocessor_name=postprocessor,
        postprocessor=_hook("sample postprocessor", "--sample-postprocessor", postprocessor, POSTPROCESSORS),
    )


def _hook(kind: str, option: str, name: str, built_in: Mapping[str, H]) -> H:
    if name in built_in:
        return built_in[name]
    if "." not in name:
        raise UnknownName.among(kind, name, built_in)
    hook: H = load_function(name, option=option)  # type: ignore[assignment] # its types show when it runs
    return hook


def _require_subset(samples: Sequence[Sample], picked: Sequence[Sample]) -> tuple[Sample, ...]:
    offered = {id(sample) for sample in samples}
    chosen = [id(sample) for sample in picked]
    if len(set(chosen)) != len(chosen) or not offered.issuperset(chosen):
        raise ValueError(
            "pick hook must return a subset of its input samples without duplicates (pure selection)"
        )
    return tuple(picked)


def _require_same(picked: Sequence[Sample], made: Sequence[Sample]) -> tuple[Sample, ...]:
    if not all(isinstance(sample, Sample) for sample in made):
        raise TypeError("postprocess hook must return samples")
    if [_identity(sample) for sample in made] != [_identity(sample) for sample in picked]:
        raise ValueError("postprocess hook must return each picked sample, in order, with its own tokens")
    return tuple(made)


def _identity(sample: Sample) -> object:
    return (sample.leaf, sample.tokens, sample.response_length)


__all__ = ["DEFAULT_PICKER", "DEFAULT_POSTPROCESSOR", "SampleHooks", "sample_hooks"]
