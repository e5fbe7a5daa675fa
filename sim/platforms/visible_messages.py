"""The gateway's accepted messages on one platform, in their current state."""

from __future__ import annotations

from dataclasses import dataclass, field

from trunkline.core.values import Address, Capability, Receipt, SendRequest


@dataclass(slots=True, kw_only=True)
class VisibleMessage:
    """One message of the gateway."""

    request: SendRequest
    receipt: Receipt
    #: current text
    text: str
    reactions: list[str] = field(default_factory=list[str])

    def change(self, what: Capability, text: str) -> None:
        """Edit the text, or add a reaction; a reaction is added once."""
        if what is Capability.EDIT:
            self.text = text
        elif text not in self.reactions:
            self.reactions.append(text)


class VisibleMessages:
    """The gateway's messages, in order of acceptance."""

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str, str], VisibleMessage] = {}

    def add(self, message: VisibleMessage) -> None:
        address = message.receipt.address
        self._by_id[address.account, address.conversation, message.receipt.provider_id] = message

    def get(self, address: Address, message_id: str) -> VisibleMessage | None:
        """The message with this id in a conversation, or None."""
        return self._by_id.get((address.account, address.conversation, message_id))

    @property
    def all(self) -> tuple[VisibleMessage, ...]:
        return tuple(self._by_id.values())
