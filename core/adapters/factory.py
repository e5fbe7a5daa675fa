"""Makes the adapter of an account on a real platform, and imports only the library of the platform."""

from importlib import import_module

from trunkline.core.adapters.config import AccountConfig
from trunkline.core.adapters.port import AdapterHost, PlatformAdapter
from trunkline.core.errors import ConfigError

#: platform -> module and class of its adapter; the class takes its configuration and its host
_ADAPTERS = {
    "telegram": ("trunkline.core.adapters.telegram.adapter", "TelegramAdapter"),
    "discord": ("trunkline.core.adapters.discord.adapter", "DiscordAdapter"),
    "slack": ("trunkline.core.adapters.slack.adapter", "SlackAdapter"),
    "matrix": ("trunkline.core.adapters.matrix.adapter", "MatrixAdapter"),
    "signal": ("trunkline.core.adapters.signal.adapter", "SignalAdapter"),
    "whatsapp": ("trunkline.core.adapters.whatsapp.adapter", "WhatsAppAdapter"),
}


def make_adapter(account: AccountConfig, host: AdapterHost) -> PlatformAdapter:
    """The adapter of an account, which opens nothing before running.

    Raises `ConfigError` for a secret that is not there, and for an extra that is not installed.
    """
    module, name = _ADAPTERS[account.on]
    try:
        kind = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("trunkline"):
            raise
        raise ConfigError(
            f"{account.on} needs a package that is not installed: pip install 'trunkline[{account.on}]'"
        ) from error
    return kind(account.platform, host)
