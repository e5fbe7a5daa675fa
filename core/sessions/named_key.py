"""Session keys that a caller names, and the entries of sessions that a send creates: what a profile may decide."""

from collections.abc import Mapping

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.keys import canonical_key
from trunkline.core.keys.canonical import foreign_codec
from trunkline.core.routing.outbound import OutboundRoute
from trunkline.core.sessions.entries import entry_for, todays_key
from trunkline.core.values import SessionEntry

_NO_ACCOUNTS: Mapping[str, str] = {}


class NamedKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A session key as the store has it, and its agent, which the configuration may not have."""

    text: str
    agent: str


class SessionRules:
    """What a profile decides of sessions that clients and agents name or create."""

    def named_key(self, text: str, config: GatewayConfig, accounts: Mapping[str, str]) -> NamedKey:
        """The stored form of a key in any known form. Raises `KeyFormatError` naming the accepted forms.

        A key in another gateway's form becomes the key of its session after migration.
        """
        key = canonical_key(text)
        if str(key) != text.lower() and foreign_codec(text) is not None:
            key = todays_key(key, config, accounts)
        return NamedKey(text=str(key), agent=key.agent)

    def entry(self, route: OutboundRoute) -> SessionEntry:
        """The entry of a session that an outbound message creates: the same as of an inbound one."""
        return entry_for(route.address)


def read_named_key(text: str, config: GatewayConfig, accounts: Mapping[str, str] = _NO_ACCOUNTS) -> NamedKey:
    """The stored form of a session key that a client, an agent, an operator or a scenario names.

    `accounts`: the default account of each channel. Raises `KeyFormatError` naming the accepted forms.
    """
    return config.rules[SessionRules].named_key(text.strip(), config, accounts)
