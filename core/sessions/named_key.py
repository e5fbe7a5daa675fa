"""Reads the session key that a caller names: a client, an agent, an operator or a scenario, in any known form."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.keys import canonical_key, parse_openclaw
from trunkline.core.keys.openclaw import agent_id, fold_key
from trunkline.core.sessions.entries import todays_key

_NO_ACCOUNTS: Mapping[str, str] = {}


class NamedKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A session key as the store has it, and its agent, which the configuration may not have."""

    text: str
    agent: str


def read_named_key(text: str, config: GatewayConfig, accounts: Mapping[str, str] = _NO_ACCOUNTS) -> NamedKey:
    """The stored form of a session key in any known form.

    A key in upstream's form becomes the key of its session after migration; `accounts`: the default account of each
    channel. Raises `KeyFormatError` naming the accepted forms. The upstream profiles accept any text, as upstream does.
    """
    trimmed = text.strip()
    if config.profile.upstream:
        # Upstream only folds the text; a key without an agent belongs to the default agent.
        parsed = parse_openclaw(trimmed, config.profile)
        agent = config.default_agent if parsed is None else agent_id(parsed.agent)
        return NamedKey(text=fold_key(trimmed, config.profile), agent=agent)
    key = canonical_key(trimmed)
    if str(key) != trimmed.lower() and parse_openclaw(trimmed) is not None:
        key = todays_key(key, config, accounts)
    return NamedKey(text=str(key), agent=key.agent)
