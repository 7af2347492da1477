"""One session: plan a turn, then commit what the engine made of it.

``plan`` is pure and decides everything that can be refused; the engine runs without any lock; ``commit``
re-checks and appends.  An illegal request raises and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from titocli.errors import RoleNotAppendable, SessionLimit
from titocli.families.control_tokens import ControlTokens
from titocli.families.messages import message_list, normalise_appended, normalise_messages
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.session.arguments import TurnArguments, TurnRequest, resolve_arguments
from titocli.session.generation import Completion, GenerateRequest
from titocli.session.history import HistoryPolicy, attach, refuse_stale
from titocli.session.matching import ROOT_DIGEST, extend_digest, prefix_digests
from titocli.session.tool_runs import refuse_incomplete_run
from titocli.session.tree import SessionTree, Turn
from titocli.tokens.breaks import BREAK, without_breaks
from titocli.tokens.ids import TokenIds

#: Turns of one session.
MAX_TURNS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What planning a turn cost, counted: the same on every machine."""

    template_renders: int
    encoded_bytes: int
    copied_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A turn that may be generated: where it attaches, its arguments, its exact prompt ids.

    ``messages`` is the whole conversation in its stored spelling, ``appended`` the part that is new.
    ``head`` is the session's head when the plan was made.
    """

    parent: int | None
    head: int | None
    messages: tuple[Message, ...]
    appended: tuple[Message, ...]
    arguments: TurnArguments
    trim: int
    prompt_delta: TokenIds
    prompt_ids: TokenIds
    generation_prompt: str
    work: Work

    def request(self, *, request_id: str, session_id: str) -> GenerateRequest:
        """What to ask the engine for."""
        return GenerateRequest(
            request_id=request_id,
            session_id=session_id,
            prompt_ids=self.prompt_ids,
            generation_prompt=self.generation_prompt,
            messages=self.messages,
            tools=self.arguments.tools,
            template_kwargs=self.arguments.template_kwargs,
            options=self.arguments.options,
        )


class Session:
    """The turns of one rollout and the rules by which it grows.

    ``control_tokens`` says what becomes of control tokens that a client's text spells.
    Not thread-safe: callers serialise ``plan`` and ``commit`` of one session.
    """

    def __init__(
        self,
        renderer: Renderer,
        policy: HistoryPolicy,
        *,
        launch_kwargs: Mapping[str, JsonValue] | None = None,
        max_turns: int = MAX_TURNS,
        control_tokens: ControlTokens = ControlTokens.TEXT,
    ) -> None:
        self.renderer = renderer
        self.policy = policy
        self.control_tokens = control_tokens
        self.tree = SessionTree()
        self.head: int | None = None
        self._launch_kwargs = dict(launch_kwargs or {})
        self._max_turns = max_turns

    def plan(self, request: TurnRequest) -> Plan:
        """Decide where a request attaches and what the engine will read; changes nothing."""
        self._refuse_full()
        family = self.renderer.family
        messages = message_list(request.messages)
        parent = attach(self.policy, self.tree, self.head, list(prefix_digests(ROOT_DIGEST, messages)))
        recorded = None if parent is None else self.tree[parent].arguments
        arguments = resolve_arguments(family, self._launch_kwargs, recorded, request)
        if parent is None:
            return self._plan_root(messages, arguments)
        # What is replayed was accepted before; only the new messages are looked at.
        return self._plan_append(parent, messages[self.tree[parent].message_count :], arguments)

    def _refuse_full(self) -> None:
        if len(self.tree) >= self._max_turns:
            raise SessionLimit(
                f"this session has reached its limit of {self._max_turns} turns",
                hint="start a new session",
                details={"max_turns": self._max_turns},
            )

    def _refuse_roles(self, appended: Sequence[Message], *, first: int) -> None:
        allowed = self.renderer.family.append_roles
        for index, message in enumerate(appended, start=first):
            if message["role"] not in allowed:
                raise RoleNotAppendable(
                    f"message {index}: role {message['role']!r} cannot be appended to a conversation "
                    f"of family {self.renderer.family.name!r}",
                    hint=f"roles that can: {', '.join(allowed)}",
                    details={"message_index": index, "append_roles": list(allowed)},
                )

    def _refuse_control_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool], *, first: int
    ) -> None:
        if self.control_tokens is ControlTokens.REJECT:
            self.renderer.client_text.refuse(messages, tools, first=first)

    def _plan_root(self, messages: Sequence[Message], arguments: TurnArguments) -> Plan:
        normal = normalise_messages(self.renderer.family, messages)
        self._refuse_control_tokens(normal, arguments.tools, first=0)
        marked = self.renderer.marked_text(
            normal,
            tools=arguments.tools,
            kwargs=arguments.template_kwargs,
            generation_prompt=True,
            control_tokens=self.control_tokens,
        )
        ids, text = self.renderer.ids(marked), without_breaks(marked)
        return Plan(
            parent=None,
            head=self.head,
            messages=tuple(messages),
            appended=tuple(messages),
            arguments=arguments,
            trim=0,
            prompt_delta=ids,
            prompt_ids=ids,
            generation_prompt=self.renderer.generation_prompt_of(text),
            work=Work(
                template_renders=1 + (BREAK in marked), encoded_bytes=len(text.encode()), copied_tokens=0
            ),
        )

    def _plan_append(self, parent: int, appended: Sequence[Message], arguments: TurnArguments) -> Plan:
        first = self.tree[parent].message_count
        normal = normalise_appended(self.renderer.family, appended, first=first)
        self._refuse_roles(normal, first=first)
        self._refuse_control_tokens(normal, (), first=first)
        history = self.tree.messages(parent)
        refuse_incomplete_run(self.renderer.family, history, normal)
        suffix = self.renderer.suffix(
            normal,
            history=history,
            tools=arguments.tools,
            kwargs=arguments.template_kwargs,
            control_tokens=self.control_tokens,
        )
        prompt_ids = self.tree.ids(parent)
        copied = len(prompt_ids)
        joint = self.renderer.boundary.joint(prompt_ids[-1])
        if joint.trim:
            del prompt_ids[-joint.trim :]
        delta = joint.glue + suffix.ids
        prompt_ids.extend(delta)
        return Plan(
            parent=parent,
            head=self.head,
            messages=(*history, *appended),
            appended=tuple(appended),
            arguments=arguments,
            trim=joint.trim,
            prompt_delta=delta,
            prompt_ids=prompt_ids,
            generation_prompt=suffix.generation_prompt,
            work=Work(
                template_renders=suffix.template_renders,
                encoded_bytes=suffix.encoded_bytes,
                copied_tokens=copied,
            ),
        )

    def commit(self, plan: Plan, completion: Completion, *, requested_at: float, committed_at: float) -> Turn:
        """Append a generated turn and make it the head.

        Raises ``StaleCommit`` (linear) or ``SessionLimit``; then nothing has changed.
        """
        self._refuse_full()
        refuse_stale(self.policy, plan.head, self.head)
        messages = (*plan.appended, completion.message)
        turn = Turn(
            id=len(self.tree),
            parent=plan.parent,
            messages=messages,
            message_count=len(plan.messages) + 1,
            digest=extend_digest(self.tree.digest(plan.parent), messages),
            trim=plan.trim,
            prompt_delta=plan.prompt_delta,
            prompt_length=len(plan.prompt_ids),
            completion=completion,
            arguments=plan.arguments,
            requested_at=requested_at,
            committed_at=committed_at,
        )
        self.tree.append(turn)
        self.head = turn.id
        return turn

    def leaves(self) -> tuple[int, ...]:
        """The leaves that are trained: every leaf of a tree, the head of a line."""
        if self.policy is HistoryPolicy.TREE:
            return self.tree.leaves()
        return () if self.head is None else (self.head,)


__all__ = ["MAX_TURNS", "Plan", "Session", "Work"]
