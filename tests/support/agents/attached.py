"""A real gateway whose agent `main` is a program or a webhook, and people who write to it."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from tests.support.small_gateway import ANA, Running, TinyPlatform, serving
from trunkline import Address, Agent, system_env
from trunkline.core.agents.config import AgentImplementation
from trunkline.core.agents.factory import make_agent, running
from trunkline.core.events.gateway import TurnEnded

SCRIPT = Path(__file__).with_name("scripted_program.py")


def program(*arguments: str, **settings: Any) -> dict[str, Any]:
    """The configuration of the scripted program."""
    command = [sys.executable, "-I", "-S", str(SCRIPT), *arguments]
    return {"program": {"command": command, "stop_timeout": 2, **settings}}


class Attached:
    """A gateway that serves, and what its agent answered."""

    def __init__(self, gateway: Running, platform: TinyPlatform) -> None:
        self.gateway = gateway
        self.platform = platform
        self._said = 0

    async def ask(self, text: str, place: Address = ANA) -> TurnEnded:
        """Write a message, and wait for the end of its turn."""
        self._said += 1
        count = len(self.gateway.recorded(TurnEnded)) + 1
        self.platform.say(str(self._said), place, text)
        return (await self.gateway.until(TurnEnded, count))[count - 1]

    def say(self, text: str, place: Address = ANA) -> None:
        """Write a message and do not wait."""
        self._said += 1
        self.platform.say(str(self._said), place, text)

    async def answers(self, count: int) -> list[str]:
        """The texts that were sent, once there are `count`."""
        with anyio.fail_after(30):
            while len(self.platform.sent) < count:  # noqa: ASYNC110 -- the platform is a list
                await anyio.sleep(0.01)
        return [request.text for request in self.platform.sent]

    async def answer(self, text: str, place: Address = ANA) -> str:
        """Write a message; the last text that was sent after its turn."""
        before = len(self.platform.sent)
        ended = await self.ask(text, place)
        assert ended.outcome == "replied", (ended.reason, ended.detail)
        return (await self.answers(before + 1))[-1]


@asynccontextmanager
async def attached(
    folder: Path,
    implementation: dict[str, Any],
    environ: dict[str, str] | None = None,
    *,
    main: Agent | None = None,
    **config: Any,
) -> AsyncGenerator[Attached, None]:
    """A gateway on a store in a folder, with an agent as `agents` of a configuration describes it.

    It answers everybody, unless there is a `main`: then it is the agent `helper`.
    """
    agent = make_agent(
        "main",
        AgentImplementation.model_validate(implementation),
        folder=folder,
        environ=dict(os.environ) if environ is None else environ,
        env=system_env(),
    )
    platform = TinyPlatform()
    try:
        if main is not None:
            config["others"] = {"helper": agent}
        async with (
            running([agent]),
            serving(
                folder / "store.db", platform, main or agent, **{"turns": {"error_notice": ""}, **config}
            ) as gateway,
        ):
            yield Attached(gateway, platform)
    finally:
        platform.close()
