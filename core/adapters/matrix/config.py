"""The configuration of a Matrix account."""

from pydantic import Field

from trunkline.core.config.base import Duration, Flag, HttpAddress, Model
from trunkline.core.config.secrets import Secret


class MatrixConfig(Model):
    """A user of a Matrix homeserver, in rooms without encryption."""

    homeserver: HttpAddress
    """Address of the client-server API, e.g. `https://matrix.example.org`."""
    user: str = Field(pattern=r"^@[^:\s]+:\S+$")
    """Id of the user, e.g. `@bot:example.org`."""
    token: Secret
    """Access token of the user's device. A new device makes the server forget which messages were sent already."""
    poll_seconds: Duration = Field(default=30.0, gt=0, le=300)
    """How long the server holds a sync open while there is nothing new."""
    request_timeout: Duration = Field(default=30.0, gt=0, le=600)
    """How long a request may take until it is made again under its key."""
    files: str | None = None
    """Folder whose files agents may send, relative to the configuration file; by default only addresses are sent."""
    file_hosts: tuple[str, ...] = ()
    """Hosts that are not public, by name or IP address, whose files agents may send by their address anyway."""
    join: Flag = True
    """Join rooms that somebody invites the user to."""
