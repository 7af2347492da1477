"""Messages and tools as templates want them: one place, the same on first render and on append.

Policies:

* ``developer`` is OpenAI's newer word for ``system``; templates only know the latter.
* A member that is null is a member that is missing.  Content null or missing is the empty string; a list of
  text parts is their concatenation.
* ``reasoning`` is read where ``reasoning_content`` is missing or empty (the newer name of servers); where
  both have text, ``reasoning_content`` counts.
* Text before an answer in ``<think>`` tags is its reasoning where no reasoning is given, or the same one; an
  answer beside given reasoning is never cut.
* Tool-call arguments become an object, numbers spelled as they came; ``""``, null and missing are the empty
  object.  Text that is no object, or that has a key twice, stays verbatim in families that print JSON.  In
  the others text that is no object is the one argument ``arguments`` (and the last of equal keys counts), so
  that what a model wrote is never lost and never ends a rollout.
* A conversation does not start with a tool result: templates do not agree on how to open one.
"""

from __future__ import annotations

from titocli.families.messages.conversation import message_list, normalise_appended, normalise_messages
from titocli.families.messages.tools import normalise_tools, tool_names

__all__ = ["message_list", "normalise_appended", "normalise_messages", "normalise_tools", "tool_names"]
