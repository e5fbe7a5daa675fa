"""The configuration of a Slack account."""

from typing import Literal

from pydantic import Field, model_validator

from trunkline.core.config.base import Duration, Model
from trunkline.core.config.secrets import Secret


class SlackConfig(Model):
    """An app of Slack in a workspace, by Socket Mode or by HTTP events."""

    bot_token: Secret
    """The bot token, `xoxb-...`."""
    app_token: Secret | None = None
    """The app-level token, `xapp-...`, for Socket Mode."""
    signing_secret: Secret | None = None
    """The signing secret, for events by HTTP."""
    text: Literal["markdown", "mrkdwn"] = "markdown"
    """How Slack reads texts: as Markdown, or as its own mrkdwn."""
    files: str | None = None
    """Folder whose files agents may send, relative to the configuration file; by default only addresses are sent."""
    file_hosts: tuple[str, ...] = ()
    """Hosts that are not public, by name or IP address, whose files agents may send by their address anyway."""
    api_root: str = "https://slack.com/api/"
    """Another Web API, such as a fake."""
    request_timeout: Duration = Field(default=30.0, gt=0, le=600)
    """How long a request may take until it is in doubt."""
    ping_every: Duration = Field(default=15.0, gt=0, le=600)
    """How often a socket is checked; without an answer within half of that it counts as dead."""

    @model_validator(mode="after")
    def _one_way_in(self) -> "SlackConfig":
        if (self.app_token is None) == (self.signing_secret is None):
            raise ValueError("give `app_token` for Socket Mode, or `signing_secret` for events by HTTP")
        return self
