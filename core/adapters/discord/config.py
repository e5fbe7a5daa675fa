"""The configuration of a Discord account."""

from __future__ import annotations

from pydantic import Field

from trunkline.core.config.base import Duration, Model
from trunkline.core.config.secrets import Secret


class DiscordConfig(Model):
    """A bot of Discord, by its REST API and gateway."""

    token: Secret
    """The bot's token, from the developer portal."""
    api_root: str = "https://discord.com/api/v10"
    """Another REST API, such as a fake; its gateway is the one that it names."""
    message_content: bool = True
    """Ask for the texts of messages in servers. It is a privileged intent: switch it on in the developer portal."""
    request_timeout: Duration = Field(default=30.0, gt=0, le=600)
    """How long a request may take until it is in doubt."""
