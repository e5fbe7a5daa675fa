"""What all parts of the shell share, and the parts that need one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from core.agent import Agent
from core.channels import ChannelAdapter
from core.config import GatewayConfig
from core.decisions import Decisions
from core.delivery.decide import RecoveryAction
from core.env import Env
from core.events import EventSink
from core.events.bodies import IntentPrepared
from core.hands.port import HandRunner
from core.reasons import Reason
from core.sessions import new_session, session_created
from core.store.port import Store
from core.store.rows import IntentRow, NewSession, SessionRow
from core.values import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Configuration, ports and decisions of one gateway process."""

    config: GatewayConfig
    store: Store
    adapters: Mapping[tuple[str, str], ChannelAdapter]
    agents: Mapping[str, Agent]
    hands: HandRunner
    env: Env
    events: EventSink
    decisions: Decisions

    def new_session(self, key: str, agent: str, address: Address | None) -> NewSession:
        """A session to be created if its key has none yet."""
        return new_session(self.env, key, agent, address)

    def text_limit(self, to: Address) -> int:
        """Longest text of one message at a place: as configured, else what the adapter says."""
        adapter = self.adapters.get((to.channel, to.account))
        own = self.config.channel(to.channel).text_limit
        return own or (adapter.capabilities.text_limit if adapter is not None else 4000)

    def tell_session(self, row: SessionRow, agent: str, address: Address | None, by: str, cause: int | None) -> None:
        """Record that a session was created, if this write created it."""
        if row.created:
            self.events.record(session_created(row, agent, address, by), cause)

    def tell_prepared(self, intent: IntentRow, *, targeted: bool, reason: Reason, cause: int | None) -> int:
        """Record that an intent is durable."""
        return self.events.record(
            IntentPrepared(
                intent_kind=intent.kind,
                address=intent.address,
                targeted=targeted,
                text="\n".join(intent.chunks),
                chunks=len(intent.chunks),
                key=intent.id,
                reason=reason,
                mirror_key=intent.mirror_key,
            ),
            cause,
            inbound=intent.inbound,
            turn=intent.turn,
            intent=intent.id,
            delegation=intent.delegation,
        )


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """An intent in its lane, with the event that put it there."""

    row: IntentRow
    cause: int | None
    #: other than an ordinary attempt: what is to be done when its turn comes
    action: RecoveryAction = RecoveryAction.SEND
    #: nothing happens before (seconds on the gateway's clock)
    not_before: float | None = None
