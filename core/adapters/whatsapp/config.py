"""The configuration of a WhatsApp account."""

from pydantic import Field

from trunkline.core.config.base import Duration, HttpAddress, Model
from trunkline.core.config.secrets import Secret


class WhatsAppConfig(Model):
    """A business number of WhatsApp, by the Cloud API."""

    phone_number_id: str = Field(pattern=r"^[0-9]{1,20}$")
    """Id of the number, from the app's dashboard; not the number itself."""
    token: Secret
    """Access token of a system user."""
    app_secret: Secret
    """The app's secret, which signs webhooks."""
    verify_token: Secret
    """A word of your own, given when the webhook is registered."""
    api_root: HttpAddress = "https://graph.facebook.com/v23.0"
    """Another Graph API, such as a fake."""
    request_timeout: Duration = Field(default=30.0, gt=0, le=600)
    """How long a request may take until it is in doubt."""
    webhook_timeout: Duration = Field(default=15.0, gt=0, le=60)
    """How long a webhook waits for its messages to be stored until Meta is asked to deliver it again."""
    files: str | None = None
    """Folder whose files agents may send, relative to the configuration file; by default only addresses are sent."""
