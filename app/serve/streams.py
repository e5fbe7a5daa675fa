"""The routes that are no endpoints: streams of events, the web chat and its page."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute

from trunkline.core.http.chat.routes import chat_routes
from trunkline.core.http.event_stream import event_streams
from trunkline.core.http.page.routes import page_routes
from trunkline.core.http.served import Served


def streams(served: Served) -> Sequence[BaseRoute]:
    """The routes of streams and pages."""
    return (event_streams(served).route(), *chat_routes(served), *page_routes())
