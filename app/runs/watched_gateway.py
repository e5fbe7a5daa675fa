"""A running gateway as a trace that grows: the HTTP client, the stream and the feed together."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from trunkline.app.operators.http_client import HttpClient
from trunkline.app.runs.gateway_feed import GatewayFeed
from trunkline.app.runs.gateway_stream import GatewayStream

#: seconds after which a stream that says nothing counts as broken; a gateway says something every 15 s
SILENCE = 45.0


def watched_gateway(url: str, token_file: Path | None, *, limit: int = 256) -> GatewayFeed:
    """The feed of a gateway, once it has answered. Raises `UsageError`."""
    client = HttpClient(url, token_file)
    stream = GatewayStream(partial(client.stream, "/v1/events", silence=SILENCE))
    stream.start()
    return GatewayFeed(str(client.url).rstrip("/"), stream, limit=limit)
