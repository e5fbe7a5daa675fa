"""Pairs of events: which events of two runs of a scenario are the same step, and in what they differ.

Events are paired by subject (the id of their message, intent or delegation), kind and occurrence. Ids are the same in
every run of a scenario, so a message keeps its pair however late it comes.
"""

from collections.abc import Sequence
from functools import cache

from trunkline.core.events import Body, Event
from trunkline.sim.events import attach, world

#: subject of an event without ids: the first of these fields that its body has
_NAMES = ("original_id", "key", "session_key", "name", "fault", "phase", "bug", "hand", "webhook", "channel", "why")
#: fields whose differences mean nothing: times, and numbers assigned by platforms and stores
_NUMBERS = frozenset(
    ("provider_id", "message_id", "original_id", "retry_at", "until", "at", "token", "owner", "retry_in", "before")
)
#: starts of a gateway that is not ours: where it is installed and how long it took are no differences
_STARTS = (attach.GatewayLaunched, attach.GatewayReady)


def pair_events(ours: Sequence[Event], theirs: Sequence[Event]) -> list[int]:
    """For each event of A the seq of its pair in B; 0: none."""
    waiting: dict[tuple[str, type[Body]], list[int]] = {}
    for event in reversed(theirs):
        waiting.setdefault(_subject(event), []).append(event.seq)
    found: list[int] = []
    for event in ours:
        left = waiting.get(_subject(event))
        found.append(left.pop() if left else 0)
    return found


def _subject(event: Event) -> tuple[str, type[Body]]:
    """The subject of an event, and its kind."""
    body = event.body
    name = event.intent or event.delegation or event.turn or event.inbound or event.binding
    if name is None:
        name = f"{event.node}/{_name(body)}"
    return name, type(body)


def _name(body: Body) -> str:
    if isinstance(body, world.WorldPlace | world.ThreadOpened):
        return "/".join(body.address.lane)
    return next((str(value) for name in _NAMES if (value := getattr(body, name, None)) is not None), "")


def differs(ours: Body, theirs: Body) -> bool:
    """Whether two events differ, apart from times and assigned numbers."""
    return ours != theirs and bool(differences(ours, theirs))


def differences(ours: Body, theirs: Body) -> list[tuple[str, object, object]]:
    """The fields that differ, with their values in A and in B."""
    pairs = ((name, getattr(ours, name), getattr(theirs, name)) for name in _compared(type(ours)))
    return [pair for pair in pairs if pair[1] != pair[2]]


@cache
def _compared(kind: type[Body]) -> tuple[str, ...]:
    """The fields of a kind that are compared."""
    if issubclass(kind, _STARTS):
        return ("number",)
    return tuple(name for name in kind.__struct_fields__ if name not in _NUMBERS)
