"""Gathers what a heartbeat depends on: its instructions, the places it may speak to, and whether an account can send.

Files and adapters are user code: each gets a deadline, and a failure is a fact like any other.
"""

from typing import cast

import anyio
import msgspec

from trunkline.core.channels import Readiness, Ready, rules_for
from trunkline.core.channels.adapter import Recipients
from trunkline.core.config.heartbeat import LAST, HeartbeatConfig
from trunkline.core.config.schedule import CronConfig
from trunkline.core.env import Files
from trunkline.core.errors import StoreError, UsageError
from trunkline.core.heartbeat.settings import target_question
from trunkline.core.heartbeat.targets import HeartbeatTarget, Route, TargetQuestion, resolve_heartbeat_target
from trunkline.core.reasons import Reason
from trunkline.core.routing.outbound import OutboundQuestion
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.store.schedule import FindLastRoute
from trunkline.core.values import Address
from trunkline.core.well_formed import describe, plain_text, well_formed

#: most bytes of a file with instructions
MAX_FILE = 256 * 1024
#: seconds for a file or an adapter
_TIMEOUT = 5.0


class Instructions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The instructions of a heartbeat. `text` none: there is no file; `problem`: it cannot be read."""

    text: str | None = None
    problem: str = ""


class Destination(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the text of a run goes; none: nowhere, and why."""

    address: Address | None = None
    reason: Reason | None = None
    detail: str = ""


async def instructions_of(heartbeat: HeartbeatConfig, files: Files) -> Instructions:
    if heartbeat.text is not None:
        return Instructions(text=heartbeat.text)
    if heartbeat.file is None:
        return Instructions()
    try:
        with anyio.fail_after(_TIMEOUT):
            found = await files.read(heartbeat.file, MAX_FILE + 1)
    except TimeoutError:
        return Instructions(problem=f"{heartbeat.file} could not be read within {_TIMEOUT:g} s")
    except OSError as error:
        return Instructions(problem=f"{heartbeat.file} cannot be read: {error.strerror or type(error).__name__}")
    if found is None:
        return Instructions()
    if len(found) > MAX_FILE:
        return Instructions(problem=f"{heartbeat.file} is larger than {MAX_FILE // 1024} KiB; shorten it")
    try:
        return Instructions(text=well_formed(found.decode("utf-8-sig")))
    except UnicodeDecodeError:
        return Instructions(problem=f"{heartbeat.file} is not UTF-8 text")


class Destinations:
    """Finds where the texts of heartbeats and of the schedule go."""

    def __init__(self, context: Context, targets: TargetResolver) -> None:
        self._ctx = context
        self._targets = targets

    async def for_agent(
        self, agent: str, session_key: str | None, cause: int | None, *, entry: CronConfig | None = None
    ) -> Destination:
        """The place of an agent's heartbeat, or of an entry of the schedule. `session_key`: only its last route."""
        question = await self._question(agent, session_key, entry)
        found = resolve_heartbeat_target(question)
        if not found.deliverable:
            return Destination(reason=found.reason, detail=_uncertain(question, found.reason))
        return await self._address(agent, found, cause)

    async def _question(self, agent: str, session_key: str | None, entry: CronConfig | None) -> TargetQuestion:
        ctx = self._ctx
        last = await ctx.store.read(FindLastRoute(agent=agent, session_key=session_key))
        accounts = {channel: ctx.accounts(channel) for channel in ctx.channels}
        question = target_question(
            ctx.config, agent, last=_route(None if last is None else last.address), accounts=accounts, entry=entry
        )
        reported = await self._recipients()
        recipients = {
            channel: (*question.recipients.get(channel, ()), *reported.get(channel, ()))
            for channel in (*question.recipients, *reported)
        }
        return msgspec.structs.replace(question, recipients=recipients)

    async def _recipients(self) -> dict[str, tuple[str, ...]]:
        """The people that adapters name, by channel. An adapter that fails names no person."""
        found: dict[str, tuple[str, ...]] = {}
        for (channel, _), adapter in sorted(self._ctx.adapters.items()):
            if not isinstance(adapter, Recipients):
                continue
            found[channel] = (*found.get(channel, ()), *await _people(adapter))
        return found

    async def _address(self, agent: str, found: HeartbeatTarget, cause: int | None) -> Destination:
        channel = found.channel or ""
        if channel not in self._ctx.channels:
            return Destination(reason=Reason.UNKNOWN_CHANNEL, detail=channel)
        if found.place is not None:
            account = found.account or found.place.account
            return Destination(address=msgspec.structs.replace(found.place, account=account), reason=found.reason)
        try:
            question = OutboundQuestion(
                agent=agent,
                channel=channel,
                target=found.to or "",
                account=self._targets.account(channel, found.account, None, agent),
            )
            route, _ = await self._targets.route(question, cause, {})
        except UsageError as error:
            return Destination(reason=Reason.BAD_TARGET, detail=error.facts)
        return Destination(address=route.address, reason=found.reason)


def _uncertain(question: TargetQuestion, reason: Reason | None) -> str:
    """Why owners who are configured are not written to, and what to do about it."""
    if reason is not Reason.NO_ROUTE or question.target == LAST or not question.owners:
        return ""
    return f"control.owners: {', '.join(question.owners)}: no text proves a direct chat here; write CHANNEL:user:ID"


async def _people(adapter: Recipients) -> tuple[str, ...]:
    try:
        with anyio.fail_after(_TIMEOUT), UserCode():
            named = cast("object", await adapter.resolve_recipients())
    except Exception:  # noqa: BLE001 -- the configuration may name people
        return ()
    if not isinstance(named, tuple):
        return ()
    return tuple(text for name in cast("tuple[object, ...]", named) if (text := plain_text(name)))


def _route(place: Address | None) -> Route:
    if place is None:
        return Route()
    written = rules_for(place.channel).write(place)
    return Route(channel=place.channel, to=written.target, account=place.account, place=place)


async def readiness_of(context: Context, place: Address) -> Destination:
    """Whether the account of a place can send now: the place itself, or why it cannot."""
    adapter = context.adapters.get((place.channel, place.account))
    if adapter is None:
        return Destination(reason=Reason.NO_ADAPTER, detail=f"{place.channel}:{place.account}")
    if not isinstance(adapter, Readiness):
        return Destination(address=place)
    try:
        with anyio.fail_after(_TIMEOUT), UserCode():
            answer = cast("object", await adapter.ready())
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 -- what cannot say that it is ready is not
        return Destination(reason=Reason.NOT_READY, detail=describe(error))
    if not isinstance(answer, Ready) or not answer.ok:
        return Destination(reason=Reason.NOT_READY, detail=plain_text(getattr(answer, "reason", "")) or "")
    return Destination(address=place)
