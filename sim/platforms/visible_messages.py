"""What people can see of the gateway on one platform: the messages that were accepted, as they stand now."""

from __future__ import annotations

from dataclasses import dataclass, field

from trunkline.core.values import Address, Capability, Receipt, SendRequest


@dataclass(slots=True, kw_only=True)
class VisibleMessage:
    """One message of the gateway."""

    request: SendRequest
    receipt: Receipt
    #: the text that it has now
    text: str
    reactions: list[str] = field(default_factory=list[str])

    def change(self, what: Capability, text: str) -> None:
        """Edit it, or put a sign on it. A sign that is on it already stays one."""
        if what is Capability.EDIT:
            self.text = text
        elif text not in self.reactions:
            self.reactions.append(text)


class VisibleMessages:
    """The messages of the gateway, in the order in which they were accepted."""

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str, str], VisibleMessage] = {}

    def add(self, message: VisibleMessage) -> None:
        """It is visible from now on."""
        address = message.receipt.address
        self._by_id[address.account, address.conversation, message.receipt.provider_id] = message

    def get(self, address: Address, message_id: str) -> VisibleMessage | None:
        """The message with this id in a conversation, if there is one."""
        return self._by_id.get((address.account, address.conversation, message_id))

    @property
    def all(self) -> tuple[VisibleMessage, ...]:
        """Every message."""
        return tuple(self._by_id.values())
