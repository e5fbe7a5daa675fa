"""The benches of Telegram: a real adapter by polling or by webhook, against the Bot API on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tests.support.wire.bench import WireBench
from trunkline.core.testing.adapter_kit import SeenMessage

TOKEN = {"env": "TOKEN"}


class TelegramBench(WireBench):
    """Long polling."""

    platform = "telegram"
    config = {"token": TOKEN, "api_root": "{url}", "poll_seconds": 5, "request_timeout": 10}  # noqa: RUF012 -- constant
    payload = '{"link_preview_options":{"is_disabled":true}}'

    async def accepted(self) -> Sequence[SeenMessage]:
        """The wire carries no keys."""
        return [msgspec.structs.replace(one, key=None) for one in await super().accepted()]

    @property
    def server(self) -> Any:
        """The server."""
        return self.listener.server
