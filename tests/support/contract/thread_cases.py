"""What the tests of fake bindings share."""

from typing import Any

import pytest

from tests.support.contract.stage import Stage
from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, Identity


async def webhook(stage: Stage, place: Address, name: str = "clerk") -> Identity:
    found = await stage.adapter("discord", place.account).identity(place, name)
    assert found is not None
    return found


async def refused(call: Any) -> PlatformError:
    with pytest.raises(PlatformError) as caught:
        await call
    return caught.value
