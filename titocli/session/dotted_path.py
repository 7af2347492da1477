"""Functions of the user's own, named by a dotted path and loaded at start-up."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from titocli.errors import InvalidOption


def load_function(path: str, *, option: str) -> Callable[..., Any]:
    """The synchronous callable that ``package.module.name`` or ``package.module:name`` names.

    Raises ``InvalidOption``, naming ``option``, for a path that cannot be imported, for what cannot be
    called, and for coroutine functions: they would never be awaited.
    """
    module_name, _, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not module_name or not name:
        raise _invalid(option, path, "is not a dotted path")
    try:
        found = getattr(importlib.import_module(module_name), name, None)
    except Exception as error:
        # A module runs the user's code: whatever it raises is a fault of the option.
        raise _invalid(option, path, f"cannot be imported ({type(error).__name__}: {error})") from error
    if found is None:
        raise _invalid(option, path, f"cannot be imported (module {module_name!r} has no {name!r})")
    if not callable(found):
        raise _invalid(option, path, "is not callable")
    if _is_async(found):
        raise _invalid(option, path, "is asynchronous; it is called synchronously")
    return found  # type: ignore[no-any-return]  # callable() narrows to object


def _is_async(found: object) -> bool:
    call = getattr(found, "__call__", None)  # noqa: B004 - the method itself is looked at
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(kind(each) for kind in kinds for each in (found, call))


def _invalid(option: str, path: str, what: str) -> InvalidOption:
    return InvalidOption(
        f"{option} {path!r} {what}",
        hint="give package.module.function of an installed module (or of one on PYTHONPATH)",
        details={"option": option, "path": path},
    )


__all__ = ["load_function"]
