"""All endpoints of the HTTP API, in the order in which the OpenAPI document shows them.

To add some: a module in `core/http/routes/` with handlers ``async def list_intents(call: Call) -> QueueOverview`` and a
tuple `ENDPOINTS`; then its import and its line here, and a row for each in the table of the authorisation test
(`tests/unit/core/http/test_authorisation.py`). Router, checks of scopes and bodies, and the document follow. A path
without a parameter stands before one with a parameter in its place. Types of queries and bodies forbid unknown fields.

Streams, pages and WebSockets are Starlette routes, passed to `build_app` as `more`.
"""

from __future__ import annotations

from trunkline.core.http.endpoint import Endpoint
from trunkline.core.http.routes import (
    accounts,
    admin,
    agents,
    bindings,
    explain,
    hands,
    health,
    inbound,
    messages,
    metrics,
    outbox,
    platforms,
    queue,
    sessions,
)

ENDPOINTS: tuple[Endpoint, ...] = (
    *health.ENDPOINTS,
    *accounts.ENDPOINTS,
    *inbound.ENDPOINTS,
    *outbox.ENDPOINTS,
    *messages.ENDPOINTS,
    *platforms.ENDPOINTS,
    *sessions.ENDPOINTS,
    *bindings.ENDPOINTS,
    *queue.ENDPOINTS,
    *hands.ENDPOINTS,
    *agents.ENDPOINTS,
    *explain.ENDPOINTS,
    *metrics.ENDPOINTS,
    *admin.ENDPOINTS,
)
