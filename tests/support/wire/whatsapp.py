"""The bench of a WhatsApp account: the Cloud API on the wire, which calls the adapter's webhook."""

from typing import Any

from tests.support.wire.bench import WireBench
from trunkline.core.adapters.whatsapp.adapter import WhatsAppAdapter
from trunkline.core.channels import ChannelAdapter
from trunkline.core.testing.adapter_kit import NotTried
from trunkline.sim.wire.play.run import WebhookReceiver
from trunkline.sim.wire.whatsapp.server import WhatsAppServer

#: an account of the Cloud API
CLOUD = "mode: direct"
WORD = "open sesame"


class WhatsAppBench(WireBench):
    """A business number."""

    platform = "whatsapp"
    media = ("https://example.org/lamp.png",)
    #: folder whose files may be sent
    files: str | None = None
    server: WhatsAppServer

    def __init__(self, world: Any, listener: Any, stack: Any) -> None:
        self.server = listener.server
        self.receiver = WebhookReceiver()
        self.config = {
            "api_root": "{url}/v23.0",
            "phone_number_id": self.server.phone_number_id("default"),
            "token": {"env": "TOKEN"},
            "app_secret": {"env": "APP_SECRET"},
            "verify_token": {"env": "WORD"},
            "request_timeout": 3,
            "webhook_timeout": 2,
            "files": self.files,
        }
        super().__init__(world, listener, stack)

    def secrets(self) -> dict[str, str]:
        return {"APP_SECRET": self.server.app_secret("default"), "WORD": WORD}

    @property
    def cloud(self) -> WhatsAppAdapter:
        assert isinstance(self.real, WhatsAppAdapter)
        return self.real

    async def open(self) -> None:
        await super().open()
        if not self.receiver.url:
            await self.receiver.open()
            self._stack.push_async_callback(self.receiver.close)
        self.url = self.receiver.hand_over("whatsapp", "default", self.cloud)
        assert await self.server.subscribe("default", self.url, WORD)

    async def restart(self) -> ChannelAdapter:
        return await super().restart()

    async def break_stream(self) -> None:
        raise NotTried("Meta opens a connection for each webhook, so there is none that could break")
