"""The part shared by the adapters of all accounts: name, capabilities, and refusals of what no platform here has."""

from __future__ import annotations

from trunkline.core.channels.capabilities import check_able
from trunkline.core.errors import IdentityGone, InvalidSend, Refused
from trunkline.core.values import Address, Capabilities, Receipt, SendRequest


class AccountAdapter:
    """The base of a `trunkline.core.channels.ChannelAdapter` for an account."""

    def __init__(self, channel: str, account: str, capabilities: Capabilities) -> None:
        self.channel = channel
        self.account = account
        self.capabilities = capabilities

    def check_sendable(self, request: SendRequest) -> None:
        """Raise `Refused` for a message beyond the capabilities, before anything is read or sent.

        The gateway checks the same before it stores the message; the adapter leaves nothing out in silence.
        """
        capabilities, where = self.capabilities, f"on {self.channel}:{self.account}"
        if request.identity is not None and capabilities.identities is None:
            raise IdentityGone(f"there are no webhooks {where}")
        if request.transport is not capabilities.mode.first:
            raise Refused(f"there is no {request.transport.value} transport {where}")
        try:
            check_able(
                capabilities,
                where,
                media=request.media,
                poll=request.poll,
                payload=request.payload,
                parts=request.parts,
            )
        except InvalidSend as error:
            raise Refused(error.facts) from error

    async def find(self, address: Address, key: str) -> Receipt | None:
        """Refuse: no platform here has a look-up, as the capabilities say, so the gateway never asks."""
        raise Refused(f"{self.channel} has no look-up by key")

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """Refuse, unless an adapter overrides this method and declares ``opens_threads``."""
        raise Refused(f"{self.channel} opens no threads on messages")
