"""What a simulated gateway process is put together from; bug switches replace parts of it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trunkline.core.agent import Agent
from trunkline.core.channels import ChannelAdapter
from trunkline.core.decisions import Decisions
from trunkline.core.events import EventSink
from trunkline.core.gateway import Gateway
from trunkline.core.store import Db, SqliteStore, Store


def _adapter(adapter: ChannelAdapter) -> ChannelAdapter:
    return adapter


def _sink(sink: EventSink) -> EventSink:
    return sink


def _agent(agent: Agent) -> Agent:
    return agent


@dataclass(slots=True, kw_only=True)
class Wiring:
    """Decisions and ports of one process. A bug switch may replace any of them before the process starts."""

    #: incarnation of the process that this is for
    generation: int
    decisions: Decisions = field(default_factory=Decisions)
    wrap_adapter: Callable[[ChannelAdapter], ChannelAdapter] = _adapter
    wrap_events: Callable[[EventSink], EventSink] = _sink
    wrap_agent: Callable[[Agent], Agent] = _agent
    #: makes the store from what opens the disk and what hears of refused writes
    make_store: Callable[[Callable[[], Db], EventSink], Store] = SqliteStore
    #: puts the process together from its parts
    make_gateway: Callable[..., Gateway] = Gateway

    def replace(self, **decisions: Callable[..., Any]) -> None:
        """Replace decisions by name."""
        known = {name: getattr(self.decisions, name) for name in Decisions.__slots__}
        self.decisions = Decisions(**{**known, **decisions})
