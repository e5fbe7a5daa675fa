"""The JSON Schema of what programs and webhooks exchange with the gateway."""

from typing import Any

import msgspec

from trunkline.core.agents.program.messages import FromProgram, ToProgram
from trunkline.core.agents.turn_document import PROTOCOL
from trunkline.core.agents.webhook.messages import PostedTurn, WebhookReply

#: what is described, by the name under which the document has it
_PARTS: dict[str, Any] = {
    "to_program": ToProgram,
    "from_program": FromProgram,
    "webhook_request": PostedTurn,
    "webhook_response": WebhookReply,
}


def protocol_schema() -> dict[str, Any]:
    """The document with a schema for each direction, which refer to the types below ``$defs``."""
    schemas, defs = msgspec.json.schema_components(list(_PARTS.values()), ref_template="#/$defs/{name}")
    reply = defs["WebhookReply"]
    # Of the three that end or continue a turn a reply has exactly one; types alone do not say so.
    reply["oneOf"] = [{"required": [name]} for name in ("answer", "calls", "error")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Agents of Trunkline, version {PROTOCOL} of the protocol",
        **dict(zip(_PARTS, schemas, strict=True)),
        "$defs": defs,
    }
