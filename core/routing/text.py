"""Session keys as text, in the form that a configuration asks for."""

from __future__ import annotations

from core.config import GatewayConfig
from core.keys import SessionKey, key_text
from core.profiles import Profile


def config_key(key: SessionKey, config: GatewayConfig) -> str:
    """A session key as text, in the form of the configuration's profile."""
    # March does not know that main sessions can have another name.
    name = "main" if config.profile is Profile.OPENCLAW else config.session.main_key
    return key_text(key, config.profile, name)
