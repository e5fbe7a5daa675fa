"""The configuration of a Telegram account."""

from pydantic import Field

from trunkline.core.config.base import Duration, HttpAddress, Model
from trunkline.core.config.secrets import Secret


class TelegramWebhook(Model):
    """Updates come by HTTPS instead of being asked for."""

    url: str
    """Public address of this gateway's server, e.g. `https://gateway.example.org`; the path is added to it."""
    secret: Secret
    """Telegram sends it with each update; 1 to 256 letters, digits, `_` and `-`."""


class TelegramConfig(Model):
    """A bot of Telegram, by the Bot API."""

    token: Secret
    """The token that @BotFather gave."""
    api_root: HttpAddress = "https://api.telegram.org"
    """Another server of the Bot API: your own, or a fake."""
    webhook: TelegramWebhook | None = None
    """By default updates are asked for by long polling."""
    poll_seconds: Duration = Field(default=30.0, gt=0, le=50)
    """How long Telegram holds a poll open while there is nothing new."""
    request_timeout: Duration = Field(default=30.0, gt=0, le=600)
    """How long a request may take until it is in doubt."""

    files: str | None = None
    """Folder whose files agents may send, relative to the configuration file; by default only addresses are sent."""
