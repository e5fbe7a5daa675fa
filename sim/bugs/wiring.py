"""The parts of a simulated gateway process. Bug switches replace some of them, and change nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from trunkline.core.agent import Agent
from trunkline.core.channels import ChannelAdapter
from trunkline.core.decisions import Decisions
from trunkline.core.events import EventSink
from trunkline.core.gateway import Gateway
from trunkline.core.store import Store
from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.sim.platforms import adapter_to
from trunkline.sim.scenario.names import PluginError
from trunkline.sim.store.rewired import ReplacedRead, ReplacedWrite, RewiredStore

C = TypeVar("C", bound=Write[Any])
T = TypeVar("T")


def _same(part: T) -> T:
    return part


@dataclass(slots=True, kw_only=True)
class Wiring:
    """Decisions and ports of one process. A bug switch may replace any of them before the process starts."""

    #: incarnation of the process that this is for
    generation: int
    decisions: Decisions = field(default_factory=Decisions)
    make_adapter: Callable[..., ChannelAdapter] = adapter_to
    wrap_adapter: Callable[[ChannelAdapter], ChannelAdapter] = _same
    wrap_events: Callable[[EventSink], EventSink] = _same
    wrap_agent: Callable[[Agent], Agent] = _same
    #: makes the store from a function that opens the disk, and the sink of its events
    make_store: Callable[[Callable[[], Db], EventSink], Store] = SqliteStore
    #: makes the gateway from its parts
    make_gateway: Callable[..., Gateway] = Gateway
    #: takes the errors of switches of plug-ins, which the run raises at its end
    errors: list[PluginError] = field(default_factory=list[PluginError])
    _changes: dict[type[Write[Any]], Callable[[Any], Write[Any]]] = field(
        default_factory=dict[type[Write[Any]], Callable[[Any], Write[Any]]]
    )
    _writes: dict[type[Write[Any]], ReplacedWrite] = field(default_factory=dict[type[Write[Any]], ReplacedWrite])
    _reads: dict[type[Read[Any]], ReplacedRead] = field(default_factory=dict[type[Read[Any]], ReplacedRead])

    def replace(self, **decisions: Callable[..., Any]) -> None:
        known = {name: getattr(self.decisions, name) for name in Decisions.__slots__}
        self.decisions = Decisions(**{**known, **decisions})

    def change_write(self, kind: type[C], change: Callable[[C], C]) -> None:
        """Change every command of a type before it is stored."""
        self._changes[kind] = change

    def replace_write(self, kind: type[Write[Any]], do: ReplacedWrite) -> None:
        """Replace what the store does with awaited commands of a type."""
        self._writes[kind] = do

    def replace_read(self, kind: type[Read[Any]], do: ReplacedRead) -> None:
        """Replace what the store answers to queries of a type."""
        self._reads[kind] = do

    def changed(self, command: Write[T]) -> Write[T]:
        """A command as it is stored, for processes that are no gateway."""
        change = self._changes.get(type(command))
        return command if change is None else change(command)

    def store(self, connect: Callable[[], Db], events: EventSink) -> Store:
        store = self.make_store(connect, events)
        if not (self._changes or self._writes or self._reads):
            return store
        return RewiredStore(store, events, self._changes, self._writes, self._reads)


def replaces_adapters(install: Callable[[Wiring], None]) -> bool:
    """Whether a bug switch replaces the adapters in memory, so that real ones cannot have its defect."""
    wiring = Wiring(generation=0)
    install(wiring)
    return wiring.make_adapter is not adapter_to
