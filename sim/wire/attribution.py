"""Which attempt of a gateway a request on the wire belongs to."""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Address, IntentId


class WireAttempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The parts of a request without a place on the wire, by which checkers join request and events of the gateway."""

    key: str
    intent: IntentId
    chunk: int
    attempt: int
    #: the message as the gateway wrote it, if the wire has the same message, perhaps in another form such as HTML
    text: str | None = None
    #: seq of the attempt in the gateway's log
    cause: int | None = None


class Attribution:
    """Finds the attempt that a request belongs to. None: nobody knows, as here; then the request stands for itself."""

    def attempt(self, address: Address, key: str | None, text: str) -> WireAttempt | None:
        """The attempt of a send to a place, by the key that its platform transports, if there is one."""
        return None

    def change(self, action: Action, address: Address, message_id: str | None) -> WireAttempt | None:
        return None

    def opening(self, parent: Address, title: str) -> str | None:
        """The key for which a thread is opened under a place; scenario files name the thread by it."""
        return None
