"""The configuration of a Discord account."""

from typing import Literal

from pydantic import Field

from trunkline.core.config.base import Duration, Flag, HttpAddress, Model
from trunkline.core.config.secrets import Secret


class DiscordConfig(Model):
    """A bot of Discord, by REST API and gateway."""

    token: Secret
    """The bot's token, from the developer portal."""
    api_root: HttpAddress = "https://discord.com/api/v10"
    """Another REST API, such as a fake; its gateway is the address that the API names."""
    message_content: Flag = True
    """Ask for the texts of messages in servers. It is a privileged intent: switch it on in the developer portal."""
    mentions: tuple[Literal["users", "roles", "everyone"], ...] = ("users",)
    """Whom a mention in a text of the gateway notifies."""
    files: str | None = None
    """Folder whose files agents may send, relative to the configuration file; by default only addresses are sent."""
    file_hosts: tuple[str, ...] = ()
    """Hosts that are not public, by name or IP address, whose files agents may send by their address anyway."""
    request_timeout: Duration = Field(default=30.0, gt=0, le=600)
    """How long a request may take until it is in doubt."""
