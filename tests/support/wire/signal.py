"""The bench of a Signal account: a daemon of signal-cli on the wire."""

from tests.support.wire.bench import WireBench
from trunkline.core.adapters.signal.adapter import SignalAdapter
from trunkline.core.testing.adapter_kit import NotTried
from trunkline.sim.platforms.channels.signal import FakeSignal
from trunkline.sim.wire.signal.server import SignalServer


class SignalBench(WireBench):
    """A number."""

    platform = "signal"
    config = {"number": "{token}", "daemon": "{url}", "request_timeout": 3, "silence": 20}  # noqa: RUF012 -- as the base
    #: as the daemon gets any file, so that the bench can compare it
    media = ("data:image/png;filename=lamp.png;base64,bGFtcA==", "data:image/png;filename=bulb.png;base64,YnVsYg==")

    @property
    def server(self) -> SignalServer:
        assert isinstance(self.listener.server, SignalServer)
        return self.listener.server

    @property
    def signal(self) -> SignalAdapter:
        assert isinstance(self.real, SignalAdapter)
        return self.real

    @property
    def number(self) -> str:
        return self.server.platform.bot_id("default")

    @property
    def own_id(self) -> str:
        """The account's id."""
        platform = self.server.platform
        assert isinstance(platform, FakeSignal)
        return platform.account_id(self.number)

    async def unready(self) -> None:
        raise NotTried("signal-cli does not say whether its account can send")
