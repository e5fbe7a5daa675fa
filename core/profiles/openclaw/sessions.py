"""Which sessions OpenClaw takes a text for, and the entries that it writes."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.core.config import GatewayConfig
from trunkline.core.profiles.openclaw.keys import OpenClawKeys, agent_id
from trunkline.core.routing.outbound import OutboundRoute
from trunkline.core.sessions.named_key import NamedKey, SessionRules
from trunkline.core.values import SessionEntry


class OpenClawSessions(SessionRules):
    """Any text is a key, and entries are those of the send, not of its place."""

    def named_key(self, text: str, config: GatewayConfig, accounts: Mapping[str, str]) -> NamedKey:
        """The text is only folded; a key without an agent belongs to the default agent."""
        codec = config.rules[OpenClawKeys]
        parsed = codec.parse(text)
        agent = config.default_agent if parsed is None else agent_id(parsed.agent)
        return NamedKey(text=codec.folded(text), agent=agent)

    def entry(self, route: OutboundRoute) -> SessionEntry:
        return SessionEntry(
            provider=route.channel,
            surface=route.channel,
            sender=route.sender,
            to=route.to,
            chat_type=route.chat_type,
            account=route.account,
            thread=route.thread_id,
            originating_channel=route.channel,
            originating_to=route.to,
        )
