"""Session keys as text, in the form that a configuration asks for."""

from trunkline.core.config import GatewayConfig
from trunkline.core.keys import KeyCodec, SessionKey


def config_key(key: SessionKey, config: GatewayConfig) -> str:
    """A session key as text, in the form of the configuration's profile."""
    return config.rules[KeyCodec].write(key, config.session.main_key)


def read_config_key(text: str, config: GatewayConfig) -> SessionKey:
    """The session key of a text in that form. Raises `KeyFormatError` naming the expected forms."""
    return config.rules[KeyCodec].read(text, config.session.main_key)
