"""Resolves the place that a call of the message tool concerns."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.spec import TargetMode
from trunkline.core.channels import rules_for
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import PlannedCall, TargetSource
from trunkline.core.message_tool.places import server_place
from trunkline.core.reasons import Reason
from trunkline.core.runtime.client_sends.target_resolution import ResolvedTarget, TargetResolver, ToolSend
from trunkline.core.runtime.message_tool.tool_call import ToolCall
from trunkline.core.runtime.outbound.changes import Changes
from trunkline.core.values import Address, ChatKind

#: parameters that name a server (Discord: guild, Slack and Teams: team)
_SERVERS = ("guildId", "teamId")


class CallPlaces:
    """Resolves the places of calls: by target, by the message that they name, or of a whole server or account."""

    def __init__(self, targets: TargetResolver, changes: Changes) -> None:
        self._targets = targets
        self._changes = changes

    async def resolve(self, call: ToolCall, planned: PlannedCall, called: int) -> ResolvedTarget:
        """The place that a change or question concerns. Raises `UsageError`."""
        if SPECS[planned.action].target is TargetMode.NONE:
            return self._whole(call, planned, called)
        if planned.target.source is TargetSource.ALIAS and planned.target.text is None:
            return await self._of_message(call, planned, called)
        work = call.work
        if planned.target.source is TargetSource.CURRENT and work.reply_to is not None:
            place = await self._find_room(call, planned, work.reply_to)
            if place is not None:
                return ResolvedTarget(address=place, cause=called)
        asked = aim_of(call, planned)
        aim = await self._targets.aim(call.work.agent, asked, call.work.reply_to, called, call.ids)
        if aim is None:
            raise InvalidAction(f"Action {planned.action} requires a target.", Reason.NO_TARGET)
        check_kind(planned, aim.address)
        place = None if planned.call.thread is not None else await self._find_room(call, planned, aim.address)
        return aim if place is None else msgspec.structs.replace(aim, address=place)

    async def _find_room(self, call: ToolCall, planned: PlannedCall, at: Address) -> Address | None:
        """The room of a message that is named, instead of `at`, the thread for the turn's answer; None: it is `at`.

        That thread may not be open yet, and of its messages only our own can be known. `at` may be of another account.
        """
        work, named = call.work, planned.call.message_id
        if work.open_on is None or work.place is None or work.reply_to is None or named is None:
            return None
        if at != msgspec.structs.replace(work.reply_to, account=at.account):
            return None
        if await self._changes.place_of_message(work, named) == at:
            return at
        return msgspec.structs.replace(work.place, account=at.account)

    def _whole(self, call: ToolCall, planned: PlannedCall, called: int) -> ResolvedTarget:
        """A server or account as a whole."""
        channel = planned.channel.name
        account = self._targets.account(channel, planned.call.account, call.work.reply_to, call.work.agent)
        given = fields_of(planned)
        server = next((str(given[name]) for name in _SERVERS if given.get(name)), None)
        return ResolvedTarget(address=server_place(channel, account, server), cause=called)

    async def _of_message(self, call: ToolCall, planned: PlannedCall, called: int) -> ResolvedTarget:
        """The conversation of the message that the call names, else the one that the turn works in."""
        name, origin = planned.call.message_id or "", call.work.reply_to
        place = await self._changes.place_of_message(call.work, name)
        if place is None and origin is not None and origin.channel == planned.channel.name:
            place = origin
        if place is None:
            remedy = "Name the conversation of the message."
            raise InvalidAction(f"Action {planned.action} requires a target.", Reason.NO_TARGET, remedy=remedy)
        self._targets.check_served(place, origin)
        return ResolvedTarget(address=place, cause=called)


def aim_of(call: ToolCall, planned: PlannedCall) -> ToolSend:
    """The target of a call, for the resolver. The current conversation is an exact place, unless something is named."""
    asked, channel, origin = planned.call, planned.channel.name, call.work.reply_to
    account = (asked.account or "").strip() or None
    exact = (
        planned.target.source is TargetSource.CURRENT
        and origin is not None
        and asked.thread is None
        and (channel, account or origin.account) == (origin.channel, origin.account)
    )
    return ToolSend(
        running=call.session,
        to=None if exact else planned.target.text,
        channel=channel,
        account=account,
        thread=asked.thread,
        reply_to=asked.reply_to,
    )


def check_kind(planned: PlannedCall, place: Address) -> None:
    """Raise `InvalidAction` for a person where a channel or a group is meant."""
    if place.kind is not ChatKind.DIRECT:
        return
    text = planned.target.text or ""
    if SPECS[planned.action].target is TargetMode.CHANNEL_ID:
        raise InvalidAction(f'Channel id "{text}" resolved to a user target.', Reason.BAD_TARGET)
    entry = rules_for(place.channel).action(planned.action)
    if entry is not None and entry.group_only:
        sentence = f'Action {planned.action} needs a group, and "{text}" is a person.'
        raise InvalidAction(sentence, Reason.BAD_TARGET)


def fields_of(planned: PlannedCall) -> dict[str, Any]:
    """The parameters of a call that have no field of their own."""
    return {} if planned.call.fields is None else msgspec.json.decode(planned.call.fields)
