"""Resolves the targets of sends: account, directory look-up, place and session."""

from collections.abc import Mapping

import anyio
import msgspec

from trunkline.core import errors
from trunkline.core.channels import CurrentConversation, Directory, Resolved, rules_for
from trunkline.core.channels.rules import given
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.events.delivery import TargetResolved
from trunkline.core.reasons import Reason
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute
from trunkline.core.routing.scopes import place_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.sends.api import check_exact, named_session
from trunkline.core.untrusted import check_texts
from trunkline.core.values import Address, ChatKind, SessionId
from trunkline.core.well_formed import describe

_DIRECTORY_TIMEOUT = 10.0


class ToolSend(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    running: SessionId
    to: Address | str | None
    channel: str | None = None
    account: str | None = None
    thread: str | None = None
    #: the message that it answers; on some platforms that makes a thread
    reply_to: str | None = None
    #: key of the session to mirror it
    session: str | None = None


class ResolvedTarget(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The destination of a send, with the seq of the decision."""

    address: Address
    cause: int
    route: OutboundRoute | None = None
    #: the message to quote; none where it is part of the place
    reply_to: str | None = None
    #: key and agent of the session that the caller named
    session: tuple[str, str] | None = None


class DirectoryAnswer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A directory's answer for a target. `note` explains a failed look-up."""

    resolved: Resolved | None = None
    note: str = ""
    #: what the error says of a target that is no id and not in the directory
    unknown: str = ""

    def answer(self, question: OutboundQuestion) -> OutboundQuestion:
        found = self.resolved
        if found is None:
            return question
        return msgspec.structs.replace(question, target=found.target, kind=found.kind or question.kind)


def refusal(error: errors.UsageError) -> Reason:
    if isinstance(error, errors.InvalidSend | errors.InvalidAction | errors.PolicyDenied):
        return error.reason
    if isinstance(error, errors.KeyFormatError):
        return Reason.BAD_SESSION_KEY
    if isinstance(error, errors.UnknownName):
        return Reason.UNKNOWN_ACCOUNT
    return Reason.AMBIGUOUS_TARGET if isinstance(error, errors.AmbiguousTarget) else Reason.BAD_TARGET


def resolve(
    decisions: Decisions, question: OutboundQuestion, note: str, config: GatewayConfig, *, unknown: str = ""
) -> OutboundRoute:
    """The route of a send. Raises `TargetError`, with what the directory says: `note`, or for a name `unknown`."""
    try:
        return decisions.resolve_outbound(question, config)
    except errors.TargetError as error:
        note = note or ("" if isinstance(error, errors.AmbiguousTarget) else unknown)
        if not note:
            raise
        raise type(error)(f"{error.facts}; {note}") from error


class TargetResolver:
    def __init__(self, context: Context) -> None:
        self._ctx = context

    async def aim(
        self, agent: str, asked: ToolSend, origin: Address | None, cause: int, ids: Mapping[str, str | None]
    ) -> ResolvedTarget | None:
        """The destination of a tool send; None without a target and an origin. Raises `UsageError`."""
        session = self.session(asked.session)
        if not isinstance(asked.to, str):
            address = asked.to or origin
            if address is None:
                return None
            check_exact(address, asked.channel, asked.account, asked.thread)
            self.check_served(address, origin)
            if asked.to is not None:
                cause = self._note_other_agent(agent, address, cause, ids)
            return self._exact(agent, address, asked, cause, session)
        channel = self._channel(asked.channel, origin)
        question = OutboundQuestion(
            agent=agent,
            channel=channel,
            target=asked.to,
            account=self.account(channel, asked.account, origin, agent),
            thread=asked.thread,
            reply_to=given(asked.reply_to),
            current=_current(origin, channel),
        )
        route, seq = await self.route(question, cause, ids)
        quoted = _quoted(asked, route.address)
        return ResolvedTarget(address=route.address, cause=seq, route=route, reply_to=quoted, session=session)

    def _note_other_agent(self, agent: str, place: Address, cause: int, ids: Mapping[str, str | None]) -> int:
        """Record that another agent gets the answers from an exact place, if so."""
        ctx = self._ctx
        other = ctx.decisions.other_agent_at(place, agent, ctx.config)
        if other is None or ctx.bindings.at(place) is not None:
            return cause
        body = TargetResolved(
            channel=place.channel,
            target=str(place),
            address=place,
            session_key=ctx.key_text(place_key(agent, place, ctx.config)),
            steps=(),
            answered_by=other.agent,
        )
        return ctx.events.record(body, cause, **ids)

    def _exact(
        self, agent: str, address: Address, asked: ToolSend, cause: int, session: tuple[str, str] | None
    ) -> ResolvedTarget:
        """The destination of a send to an exact place. The message that it answers may name a thread there."""
        if asked.reply_to is None:
            return ResolvedTarget(address=address, cause=cause, session=session)
        written = rules_for(address.channel).write(address)
        question = OutboundQuestion(
            agent=agent,
            channel=address.channel,
            target=written.target,
            account=address.account,
            thread=written.thread,
            reply_to=given(asked.reply_to),
        )
        route: OutboundRoute | None = self._ctx.decisions.resolve_outbound(question, self._ctx.config)
        if route.address.lane == address.lane:
            # The caller may know the parent of a thread.
            route = None
        place = address if route is None else route.address
        return ResolvedTarget(address=place, cause=cause, route=route, reply_to=_quoted(asked, place), session=session)

    def _channel(self, named: str | None, origin: Address | None) -> str:
        """The channel of a target: the named one, else the turn's, else the only one. Raises `InvalidSend`."""
        served = self._ctx.channels
        channel = (named or "").strip().lower()
        if channel:
            if channel not in served:
                facts = f"Unknown channel: {channel}; there are: {', '.join(served)}"
                raise errors.InvalidSend(facts, Reason.UNKNOWN_CHANNEL)
            return channel
        if origin is not None and origin.channel in served:
            return origin.channel
        if len(served) == 1:
            return served[0]
        facts = f"Channel is required when multiple channels are configured: {', '.join(served)}"
        if not served:
            facts = "Channel is required (no configured channels detected)."
        raise errors.InvalidSend(facts, Reason.UNKNOWN_CHANNEL)

    def check_served(self, place: Address, origin: Address | None) -> None:
        """Raise `InvalidSend` for an exact place that no adapter serves. The turn's own account may come back."""
        where = (place.channel, place.account)
        if where in self._ctx.adapters or (origin is not None and where == (origin.channel, origin.account)):
            return
        if place.channel not in self._ctx.channels:
            there = ", ".join(self._ctx.channels)
            raise errors.InvalidSend(f"Unknown channel: {place.channel}; there are: {there}", Reason.UNKNOWN_CHANNEL)
        there = ", ".join(self._ctx.accounts(place.channel))
        facts = f"no account {place.account!r} on {place.channel}; there are: {there}"
        raise errors.InvalidSend(facts, Reason.UNKNOWN_ACCOUNT)

    def session(self, text: str | None) -> tuple[str, str] | None:
        """Key and agent of a session that a caller names; none for a blank. Raises `InvalidSend`."""
        return named_session(text, self._ctx.config, self._ctx.default_accounts) if text else None

    def account(self, channel: str, named: str | None, source: Address | None, agent: str | None = None) -> str:
        """The account that sends on a channel; `agent`: the one whose turn it is. Raises `UnknownName`."""
        ctx, accounts = self._ctx, self._ctx.accounts(channel)
        if agent is not None and given(named) is None:
            named = ctx.decisions.account_of_agent(agent, channel, source, accounts, ctx.config)
        return ctx.decisions.choose_account(channel, named, source, accounts, ctx.config)

    async def route(
        self, question: OutboundQuestion, cause: int | None, ids: Mapping[str, str | None]
    ) -> tuple[OutboundRoute, int]:
        """Resolve a target and record the decision. Raises `TargetError`."""
        looked = await self.look_up(question.channel, question.account or "", question.target)
        question, ctx = looked.answer(question), self._ctx
        route = resolve(ctx.decisions, question, looked.note, ctx.config, unknown=looked.unknown)
        bound = ctx.bindings.at(route.address)
        other = None
        if bound is None:
            other = ctx.decisions.other_agent_at(route.address, question.agent, ctx.config)
        note = () if bound is None else (f"that conversation is bound to a session, by {bound.binding_id}",)
        body = TargetResolved(
            channel=question.channel,
            target=question.target,
            address=route.address,
            session_key=ctx.key_text(route.key) if bound is None else bound.target_session_key,
            steps=(*([looked.note] if looked.note else ()), *route.steps, *note),
            answered_by=None if other is None else other.agent,
        )
        return route, ctx.events.record(body, cause, **ids)

    async def look_up(self, channel: str, account: str, text: str) -> DirectoryAnswer:
        """Look a target up in the platform's directory, if it has one. A failing directory gives no answer."""
        adapter = self._ctx.adapters.get((channel, account))
        if not isinstance(adapter, Directory):
            return DirectoryAnswer()
        try:
            with anyio.fail_after(_DIRECTORY_TIMEOUT), UserCode():
                resolved = await adapter.resolve_target(text)
            wrong = "" if resolved is None else _check(resolved)
            if resolved is None:
                return DirectoryAnswer(unknown=f"the directory of {channel} has no such name")
            if not wrong:
                return DirectoryAnswer(resolved=resolved)
            why = f"its answer: {wrong}"
        except errors.UsageError:
            raise
        except TimeoutError:
            why = f"no answer within {_DIRECTORY_TIMEOUT:g} s"
        except errors.PlatformError as error:
            why = error.facts or error.reason.sentence
        except Exception as error:  # noqa: BLE001 -- the target may be clear without a broken directory
            why = describe(error)
        return DirectoryAnswer(note=f"the look-up in the directory of {channel} failed: {why}")


def _check(resolved: object) -> str:
    """The problem with a directory's answer."""
    if not isinstance(resolved, Resolved):
        return f"of type {type(resolved).__name__} instead of a Resolved"
    if not (resolved.kind is None or isinstance(resolved.kind, ChatKind)):  # pyright: ignore[reportUnnecessaryIsInstance]
        return "kind is no ChatKind"
    return "target is None" if resolved.target is None else check_texts((("target", resolved.target),))  # pyright: ignore[reportUnnecessaryComparison]


def _quoted(asked: ToolSend, place: Address) -> str | None:
    """The message to quote. On some platforms a reply is a thread: then it is part of the place."""
    quoted = given(asked.reply_to)
    return None if quoted in (place.thread, place.conversation) else quoted


def _current(origin: Address | None, channel: str) -> CurrentConversation | None:
    """The conversation of the agent's work, if on the same channel."""
    if origin is None or origin.channel != channel:
        return None
    # A turn in a thread keeps its sends to the same conversation in that thread.
    return CurrentConversation(conversation=origin.conversation, thread=origin.thread, reply_mode="all")
