"""The configuration of a Signal account."""

from pydantic import Field

from trunkline.core.config.base import Duration, HttpAddress, Model


class SignalConfig(Model):
    """A phone number of Signal, by the HTTP daemon of signal-cli."""

    number: str = Field(pattern=r"^\+[1-9][0-9]{4,17}$")
    """The number that signal-cli is registered or linked with, e.g. `+15550001111`."""
    daemon: HttpAddress = "http://127.0.0.1:8080"
    """Address of `signal-cli daemon --http`."""
    request_timeout: Duration = Field(default=30.0, gt=0, le=600)
    """How long a request may take until it is in doubt."""
    silence: Duration = Field(default=60.0, gt=0, le=3600)
    """How long the stream of events may be silent until it counts as broken. signal-cli sends a sign of life every
    15 s."""
    files: str | None = None
    """Folder whose files agents may send, relative to the configuration file; by default only addresses are sent."""
    file_hosts: tuple[str, ...] = ()
    """Hosts that are not public, by name or IP address, whose files agents may send by their address anyway."""
