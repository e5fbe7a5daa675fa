"""All endpoints of the HTTP API, in the order in which the OpenAPI document shows them.

To add one: a handler below its declaration in a module of `core/http/routes/`, its name in the tuple `ENDPOINTS` there,
and a row in the table of the authorisation test (`tests/unit/core/http/test_authorisation.py`). Table of paths, checks
of scopes and bodies, and the document follow; of a `Verb` also the HTTP client of the commands, and what they do with a
store file. Types of queries and bodies forbid unknown fields.

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
    health.metrics,
    *admin.ENDPOINTS,
)
