"""What the tests of gateway sessions share."""

from typing import Any

import anyio

from tests.support.factories import direct
from tests.support.small_gateway import ANA, Echo, Running, TinyPlatform
from trunkline import Address, GatewayConfig, Turn
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.store.queries import ReadTranscript
from trunkline.core.values import SessionId

PER_PEER: dict[str, Any] = {"session": {"dmScope": "per-peer"}}
SHARED: dict[str, Any] = {"session": {"dmScope": "main"}}
ANA_ANYWHERE, MAIN = "main:*:*:direct:100", "main:main"


class TinyTelegram(TinyPlatform):
    """The same on another platform."""

    channel = "telegram"


class Slow(Echo):
    """Answers a message only when it is told to, and looks at what it remembers then."""

    def __init__(self, *waits_for: str) -> None:
        super().__init__()
        self.begun = {text: anyio.Event() for text in waits_for}
        self.go = {text: anyio.Event() for text in waits_for}
        #: what each turn remembered at its end
        self.remembered: dict[str, list[str]] = {}

    async def turn(self, turn: Turn) -> str | None:
        self.turns.append((turn.text, turn.session_id))
        if turn.text in self.go:
            self.begun[turn.text].set()
            with anyio.fail_after(30):
                await self.go[turn.text].wait()
        self.remembered[turn.text] = [line.text for line in await turn.history()]
        return f"you said {turn.text}"


def config(**fields: Any) -> GatewayConfig:
    return GatewayConfig.model_validate(fields)


async def lines(running: Running, session: str) -> list[str]:
    """The transcript of a session by its id."""
    return [line.text for line in await running.store.read(ReadTranscript(session=SessionId(session)))]


async def say(running: Running, platform: TinyPlatform, name: str, place: Address = ANA) -> None:
    """A message is said, and answered."""
    before = len(running.recorded(IntentSettled))
    platform.say(name, place, name)
    await running.until(IntentSettled, before + 1)


PEER_1, KEY_1 = direct("1", channel="telegram"), "main:telegram:default:direct:1"
