"""Generates the JSON Schema of gateway profiles, for editors, from the models."""

from __future__ import annotations

from trunkline.sim.attach.profile import NAME, VERSION, GatewayProfile
from trunkline.sim.attach.slots import OF_PLATFORM
from trunkline.sim.scenario.schema import model_schema, schema_document


def profile_schema_text() -> str:
    """JSON Schema (draft 2020-12) of a gateway profile; deterministic."""
    schema = model_schema(GatewayProfile)
    schema["properties"]["name"] |= {"pattern": f"^{NAME.pattern}$"}
    schema["properties"]["platforms"] |= {"propertyNames": {"enum": list(OF_PLATFORM)}}
    for field in ("at_least", "below"):
        schema["$defs"]["Need"]["properties"][field] |= {"pattern": f"^{VERSION.pattern}$"}
    return schema_document("Trunkline gateway profile, version 1", schema)
