"""Records how heartbeats end: at the end of their turn, or, if they say something, when that is accepted or given up.

The second happens in whichever process settles the intent, so it is recorded with that commit.
"""

from collections.abc import Callable

from trunkline.core.calendar.hours import is_active
from trunkline.core.config.gateway import GatewayConfig
from trunkline.core.delivery.answers import said_words
from trunkline.core.delivery.policy import DeliveryDecision, NextStep
from trunkline.core.events.heartbeat import HeartbeatEnded
from trunkline.core.heartbeat.reply import PREVIEW, Indicator
from trunkline.core.heartbeat.settings import heartbeat_of, zones_of
from trunkline.core.heartbeat.visibility import Visibility, resolve_visibility
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatText
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.schedule import FindSaid
from trunkline.core.text.mirror_text import said
from trunkline.core.values import Address, IntentState

#: states in which people have read at least a part
_READ = frozenset({IntentState.DELIVERED, IntentState.PARTIAL})
_INDICATORS = {"sent": Indicator.ALERT.value, "failed": Indicator.ERROR.value}


#: judges whether a chunk may be sent now; a decision ends its intent
Judge = Callable[[], DeliveryDecision | None]


def visibility_of(config: GatewayConfig, place: Address | None) -> Visibility:
    return Visibility() if place is None else resolve_visibility(config, place.channel, place.account)


def in_hours(ctx: Context, agent: str, now: float) -> bool:
    """Whether a time of the wall clock is within the active hours of an agent's heartbeat."""
    heartbeat = heartbeat_of(ctx.config, agent)
    if heartbeat is None or heartbeat.active_hours is None:
        return True
    return is_active(heartbeat.active_hours.hours, now, zones_of(ctx.config, agent, ctx.env.timezone))


def heartbeat_text(row: IntentRow, says: str) -> HeartbeatText:
    """The text of a heartbeat's message, for the rule of 24 hours."""
    return HeartbeatText(agent=row.agent, address=row.address, text=said_words(says), intent=row.id)


async def is_repeated(ctx: Context, agent: str, place: Address, says: str) -> bool:
    """Whether a heartbeat of an agent has said a text in a place within a day, or is about to."""
    now, said = ctx.env.now(), await ctx.store.read(FindSaid(agent=agent, address=place, text=said_words(says)))
    return said is not None and ctx.decisions.is_duplicate(says, says, now if said.at is None else said.at, now)


def awake(ctx: Context, row: IntentRow, judge: Judge) -> Judge:
    """The judgement of a heartbeat's chunk: a message that comes late does not begin outside the active hours."""

    def in_time() -> DeliveryDecision | None:
        if row.progress.acked == 0 and not in_hours(ctx, row.agent, ctx.env.now()):
            return DeliveryDecision(next=NextStep.FAIL, event=DeliveryEvent.EXPIRE, reason=Reason.QUIET_HOURS)
        return judge()

    return in_time


def record_settled(ctx: Context, row: IntentRow, reason: Reason, cause: int) -> None:
    state = row.progress.state
    status = "sent" if state in _READ else "failed"
    began = ctx.heartbeats.pop(row.inbound or "", row.created_at)
    body = HeartbeatEnded(
        agent=row.agent,
        status=status,
        reason=None if state is IntentState.DELIVERED else reason,
        to=row.address,
        preview=said(row.content.chunks)[:PREVIEW],
        duration_ms=max(0, round((ctx.env.now() - began) * 1000)),
        channel=row.address.channel,
        indicator=_INDICATORS[status] if visibility_of(ctx.config, row.address).use_indicator else "",
    )
    ctx.events.record(body, cause, **ids_of(row))
