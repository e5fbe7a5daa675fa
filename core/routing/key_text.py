"""Session keys as text, in the form that a configuration asks for."""

from __future__ import annotations

from trunkline.core.config import GatewayConfig
from trunkline.core.keys import SessionKey, key_text


def config_key(key: SessionKey, config: GatewayConfig) -> str:
    """A session key as text, in the form of the configuration's profile."""
    return key_text(key, config.profile, config.session.main_key)
