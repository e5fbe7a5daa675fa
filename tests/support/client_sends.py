"""What the tests of sends share."""

import pytest

from tests.support.factories import direct
from tests.support.small_gateway import Running
from trunkline import SendFailed, SendMessage

ANA = direct("100")


async def failing(running: Running, asked: SendMessage) -> None:
    with pytest.raises(SendFailed, match="retry with the same key"):
        await running.gateway.send(asked)
