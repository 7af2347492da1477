"""One session: plan a turn, then commit what the engine made of it.

``plan`` is pure and decides everything that can be refused; the engine runs without any lock; ``commit``
re-checks and appends.  An illegal request raises and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from titocli.errors import RoleNotAppendable
from titocli.families.control_tokens import ControlTokens
from titocli.families.messages import message_list, normalise_appended, normalise_messages
from titocli.families.renderer import Renderer
from titocli.jsonvalue import JsonValue, Message, Tool
from titocli.session.arguments import (
    CallArguments,
    TurnArguments,
    TurnRequest,
    default_kwargs,
    resolve_arguments,
)
from titocli.session.generation import Completion, ReplayOutputs, ReplayRequest
from titocli.session.history import HistoryPolicy, attach, refuse_stale
from titocli.session.limits import SessionLimits, new_tokens
from titocli.session.matching import LOOSE_TOOL_CALL, STRICT, Matcher
from titocli.session.options import SessionOptions, SessionPurpose
from titocli.session.path_index import path_index
from titocli.session.plan import Plan, Work
from titocli.session.tool_results import refuse_open_assistant, refuse_stray_results
from titocli.session.tool_runs import refuse_incomplete_run, refuse_unanswered_calls
from titocli.session.tree import SessionTree, Turn
from titocli.tokens.breaks import BREAK, without_breaks


class Session:
    """The turns of one rollout and the rules by which it grows.

    ``control_tokens`` says what becomes of control tokens that a client's text spells; ``replay`` which
    replay data the engine is asked for (none in an evaluation session).  Raises what ``default_kwargs``
    raises.
    Not thread-safe: callers serialise ``plan``, ``generating`` and ``commit`` of one session.
    """

    def __init__(
        self,
        renderer: Renderer,
        policy: HistoryPolicy,
        *,
        launch_kwargs: Mapping[str, JsonValue] | None = None,
        control_tokens: ControlTokens = ControlTokens.TEXT,
        matcher: Matcher = STRICT,
        options: SessionOptions | None = None,
        limits: SessionLimits | None = None,
        replay: ReplayOutputs | None = None,
    ) -> None:
        self.renderer = renderer
        self.policy = policy
        self.control_tokens = control_tokens
        self.matcher = matcher
        self.options = options or SessionOptions()
        self.limits = limits or SessionLimits()
        self.tree = SessionTree()
        self.head: int | None = None
        self._kwargs = default_kwargs(renderer.family, launch_kwargs or {}, self.options.template_kwargs)
        self._replay = replay if self.options.purpose is not SessionPurpose.EVALUATION else None
        by_text = path_index(matcher)
        # A format that carries the value of arguments alone cannot replay their spelling.
        by_value = path_index(LOOSE_TOOL_CALL) if matcher is STRICT else by_text
        self._indexes = {CallArguments.TEXT: by_text, CallArguments.VALUE: by_value}
        self._in_flight: set[Plan] = set()
        self._stored_tokens = 0
        self._reserved_tokens = 0

    def plan(self, request: TurnRequest) -> Plan:
        """Decide where a request attaches and what the engine will read; changes nothing."""
        self._refuse_full()
        messages = message_list(request.messages)
        replayed = self._indexes[request.call_arguments].replayed(messages)
        parent = attach(self.policy, self.tree, self.head, replayed)
        recorded = None if parent is None else self.tree[parent].arguments
        arguments = resolve_arguments(self.renderer.family, self._kwargs, recorded, request, self.options)
        if parent is None:
            plan = self._plan_root(messages, arguments)
        else:
            # What is replayed was accepted before; only the new messages are looked at.
            plan = self._plan_append(parent, messages[self.tree[parent].message_count :], arguments)
        self.limits.refuse_context(plan)
        self.limits.refuse_tokens(plan, taken=self._stored_tokens + self._reserved_tokens)
        return self._with_replay(plan)

    @contextmanager
    def generating(self, plan: Plan) -> Iterator[None]:
        """Count ``plan`` against the limits while the engine works on it, until it commits or the block ends.

        Raises ``SessionLimit`` where other plans have begun since this one was made and took its place.
        """
        self._refuse_full()
        self.limits.refuse_tokens(plan, taken=self._stored_tokens + self._reserved_tokens)
        self._in_flight.add(plan)
        self._reserved_tokens += new_tokens(plan)
        try:
            yield
        finally:
            self._release(plan)

    @property
    def in_flight(self) -> int:
        """How many generations are under way."""
        return len(self._in_flight)

    @property
    def stored_tokens(self) -> int:
        """The ids that the committed turns of all branches store."""
        return self._stored_tokens

    def _release(self, plan: Plan) -> None:
        if plan in self._in_flight:
            self._in_flight.remove(plan)
            self._reserved_tokens -= new_tokens(plan)

    def _refuse_full(self) -> None:
        self.limits.refuse_turn(len(self.tree), in_flight=len(self._in_flight))

    def _with_replay(self, plan: Plan) -> Plan:
        if self._replay is None or not self._replay.kinds:
            return plan
        checkpoint = 0 if plan.parent is None else self.tree[plan.parent].token_count
        start = self._replay.start(checkpoint)
        return replace(plan, replay=ReplayRequest(outputs=self._replay, start=start))

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
        refuse_open_assistant(normal, first=0)
        refuse_stray_results((), normal, first=0)
        refuse_unanswered_calls(self.renderer.family, normal)
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
        refuse_open_assistant(normal, first=first)
        self._refuse_control_tokens(normal, (), first=first)
        history = self.tree.messages(parent)
        refuse_stray_results(history, normal, first=first)
        refuse_incomplete_run(self.renderer.family, history, normal)
        refuse_unanswered_calls(self.renderer.family, normal)
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

        Raises ``StaleCommit`` (linear), or ``SessionLimit`` for a plan that is not in flight; then nothing
        has changed.
        """
        if plan not in self._in_flight:
            self._refuse_full()
        refuse_stale(self.policy, plan.head, self.head)
        turn = Turn(
            id=len(self.tree),
            parent=plan.parent,
            messages=(*plan.appended, completion.message),
            message_count=len(plan.messages) + 1,
            trim=plan.trim,
            prompt_delta=plan.prompt_delta,
            prompt_length=len(plan.prompt_ids),
            completion=completion,
            arguments=plan.arguments,
            requested_at=requested_at,
            committed_at=committed_at,
        )
        for index in {id(index): index for index in self._indexes.values()}.values():
            index.add(turn)
        self.tree.append(turn)
        self.head = turn.id
        self._release(plan)
        self._stored_tokens += len(turn.prompt_delta) + len(completion.ids)
        return turn

    def leaves(self) -> tuple[int, ...]:
        """The leaves that are trained: every leaf of a tree, the head of a line."""
        if self.policy is HistoryPolicy.TREE:
            return self.tree.leaves()
        return () if self.head is None else (self.head,)


__all__ = ["Plan", "Session", "Work"]
