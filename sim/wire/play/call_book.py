"""The calls that the gateway has made of its adapters: they say which attempt a request on the wire belongs to.

No platform transports an intent, a chunk or an attempt. In memory the adapter hands the gateway's own request to the
platform; on the wire only its bytes arrive. So each call of an adapter is noted before it begins.

What is trusted: that the gateway calls its adapters as it records its attempts, which the port passes on unseen. What
is not trusted is the adapter: nothing is taken from it but its bytes. A key that is on the wire has to be that of a
call; a text has to be that of a call in the same place. A request of which neither is true stands for itself, and the
invariants find a message that nobody asked for. A request that an adapter makes twice is twice the same attempt, and
the invariants find a message that was delivered twice.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.values import Address, SendRequest
from trunkline.sim.loop import NODE, Node
from trunkline.sim.wire.attribution import WireAttempt

#: calls that are remembered: those in progress, and those whose bytes may still be on their way
_MOST = 2_000
#: the number that makes a repeated key unique; a thread is named after the key without it
_AGAIN = re.compile(r"\+[0-9]+")
_Lane = tuple[str, str, str, str]
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Call:
    """A call of an adapter by a process."""

    lane: _Lane
    #: what was asked for; of a thread that is opened, its title
    about: SendRequest | ActionRequest | str
    #: of a thread that is opened: its key
    key: str = ""
    process: Node | None = field(default_factory=NODE.get)
    returned: bool = False

    @property
    def going_on(self) -> bool:
        """Whether the process of the call waits for the answer."""
        return not self.returned and (self.process is None or self.process.alive)


class CallBook:
    """`trunkline.sim.wire.attribution.Attribution` for gateways whose adapters are in this process.

    `lane`: the canonical form of a place. `keys`: channel -> the form in which its platform transports a key; none: it
    transports none.
    """

    def __init__(self, lane: Callable[[Address], _Lane], keys: Mapping[str, Callable[[str], str]]) -> None:
        self._lane = lane
        self._keys = keys
        self._calls: deque[_Call] = deque(maxlen=_MOST)

    # ------------------------------------------------------------ noting

    def calling(self, request: SendRequest | ActionRequest) -> AbstractContextManager[None]:
        """Note a call while it lasts."""
        return self._noted(_Call(self._lane(request.address), request))

    def opening_child(self, parent: Address, title: str, key: str) -> AbstractContextManager[None]:
        """Note that a thread is opened, while that lasts."""
        return self._noted(_Call(self._lane(parent), title, _AGAIN.sub("", key)))

    @contextmanager
    def _noted(self, call: _Call) -> Generator[None]:
        self._calls.appendleft(call)
        try:
            yield
        finally:
            call.returned = True

    # ------------------------------------------------------------ finding

    def attempt(self, address: Address, key: str | None, text: str) -> WireAttempt | None:
        """The newest call with the key; without a key, that with the text in the place, else the one going on there."""
        sends = [(made, made.about) for made in self._calls if isinstance(made.about, SendRequest)]
        form = self._keys.get(address.channel)
        if key is not None and form is not None:
            return next((_joined(request, text) for _, request in sends if form(request.key) == key), None)
        lane = self._lane(address)
        here = [(call, request) for call, request in sends if call.lane == lane]
        same = [(call, request) for call, request in here if text in (request.text, request.html)]
        going_on = [request for call, request in here if call.going_on]
        found = _newest(same) or (going_on[0] if len(going_on) == 1 else None)
        return None if found is None else _joined(found, text)

    def change(self, action: Action, address: Address, message_id: str | None) -> WireAttempt | None:
        """The newest call for the action in the place, about the message if there is one."""
        lane = self._lane(address)
        found = _newest(
            [
                (call, call.about)
                for call in self._calls
                if isinstance(call.about, ActionRequest)
                and (call.about.action, call.lane) == (action, lane)
                and call.about.message_id in (message_id, None)
            ]
        )
        return None if found is None else _joined(found, "")

    def opening(self, parent: Address, title: str) -> str | None:
        """The key of the newest call that goes on and opens a thread under a place, one with the title if there is one.

        An adapter may cut a title, add to it, or open the thread under the room of the thread that was named.
        """
        lane = self._lane(parent)
        opened = [(made, str(made.about)) for made in self._calls if isinstance(made.about, str) and made.going_on]
        here = [entry for entry in opened if entry[0].lane == lane] or [
            entry for entry in opened if entry[0].lane[:2] == lane[:2]
        ]
        titled = [entry for entry in here if title.startswith(entry[1]) or entry[1].startswith(title)]
        return next((call.key for call, _ in titled or here), None)


def _newest(found: Sequence[tuple[_Call, T]]) -> T | None:
    """The subject of the newest call that goes on, else of the newest of all. `found`: the newest first."""
    going_on = [about for call, about in found if call.going_on]
    return next(iter(going_on), found[0][1] if found else None)


def _joined(request: SendRequest | ActionRequest, text: str) -> WireAttempt:
    return WireAttempt(
        key=request.key,
        intent=request.intent,
        chunk=request.chunk,
        attempt=request.attempt,
        text=request.text if text and text in (request.text, request.html) else None,
        cause=request.cause,
    )
