"""Which account is on which platform: the values of `accounts` in the file of `trunkline serve`."""

from pydantic import Field, model_validator

from trunkline.core.adapters.discord.config import DiscordConfig
from trunkline.core.adapters.matrix.config import MatrixConfig
from trunkline.core.adapters.signal.config import SignalConfig
from trunkline.core.adapters.slack.config import SlackConfig
from trunkline.core.adapters.telegram.config import TelegramConfig
from trunkline.core.adapters.whatsapp.config import WhatsAppConfig
from trunkline.core.config.base import Model

#: the real platforms, in the order in which messages name them
PLATFORMS = ("telegram", "discord", "slack", "matrix", "signal", "whatsapp")

PlatformConfig = TelegramConfig | DiscordConfig | SlackConfig | MatrixConfig | SignalConfig | WhatsAppConfig


class AccountConfig(Model):
    """An account of the gateway: on a real platform, or with people who are reached through the API.

    Exactly one of `channel` and the platforms.
    """

    account: str = Field(default="default", pattern=r"^\S{1,200}$")
    """Its name."""
    channel: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_.-]{0,63}$")
    """A mailbox: its people are reached through the API, by a web chat or a bridge. The platform, whose rules hold:
    `webchat`, `discord`, `telegram`, ..."""
    telegram: TelegramConfig | None = None
    """A bot of Telegram."""
    discord: DiscordConfig | None = None
    """A bot of Discord."""
    slack: SlackConfig | None = None
    """An app of Slack in one workspace."""
    matrix: MatrixConfig | None = None
    """A user of a Matrix homeserver."""
    signal: SignalConfig | None = None
    """A phone number of Signal, by signal-cli."""
    whatsapp: WhatsAppConfig | None = None
    """A business number of WhatsApp, by the Cloud API."""

    @model_validator(mode="after")
    def _exactly_one(self) -> "AccountConfig":
        given = [name for name in ("channel", *PLATFORMS) if getattr(self, name) is not None]
        if len(given) != 1:
            found = f"it has {' and '.join(f'`{name}`' for name in given)}" if given else "it has none of them"
            every = ", ".join(f"`{name}`" for name in PLATFORMS)
            raise ValueError(f"an account has exactly one of `channel` and {every}; {found}")
        return self

    @property
    def platform(self) -> PlatformConfig | None:
        """The configuration of the real platform; none for a mailbox."""
        return next((found for name in PLATFORMS if (found := getattr(self, name)) is not None), None)

    @property
    def on(self) -> str:
        return self.channel or next(name for name in PLATFORMS if getattr(self, name) is not None)
