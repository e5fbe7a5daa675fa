"""Generates the JSON Schema of scenario files, for editors, from the models.

The schema has only snake_case names; the loader also accepts upstream's camelCase.
"""

from __future__ import annotations

from itertools import combinations

from trunkline.sim.scenario.model.scenario import Scenario
from trunkline.sim.scenario.model_schema import NULL, model_schema, schema_document
from trunkline.sim.scenario.step_rules import BARE_ACTIONS, HOOK_ANSWERS, PEOPLE_ACTIONS, SPEAKERS, STEP_ACTIONS


def schema_text() -> str:
    """JSON Schema (draft 2020-12) of a scenario file; deterministic."""
    schema = model_schema(Scenario)
    definitions = schema["$defs"]
    definitions["AgentAction"] |= {"minProperties": 1, "maxProperties": 1}
    for name in ("SendStep", "SendAction"):
        definitions[name] |= {"dependentRequired": {"channel": ["target"]}, "not": {"required": ["to", "target"]}}
    definitions["SendStep"] |= {"anyOf": [{"required": ["to"]}, {"required": ["target"]}]}
    definitions["QueueStep"] |= {
        "if": {"properties": {"do": {"const": "resolve"}}},
        "then": {"required": ["verdict"]},
        "else": {"not": {"required": ["verdict"]}},
    }
    definitions["ExpectedTranscript"] |= {"oneOf": [{"required": ["in"]}, {"required": ["session"]}]}
    definitions["UnbindStep"] |= {"oneOf": [{"required": ["in"]}, {"required": ["session"]}]}
    definitions["Hook"] |= {"not": {"anyOf": [{"required": list(both)} for both in combinations(HOOK_ANSWERS, 2)]}}
    fields = definitions["ScriptStep"]["properties"]
    for name in BARE_ACTIONS:
        fields[name] = {"anyOf": [fields[name], NULL]}
    definitions["ScriptStep"] |= {
        "dependentRequired": {
            "say": ["in"],
            **{name: ["say"] for name in ("secret", "reply_chain", "bot", "via", "proxy")},
            "locked": ["archive"],
            "remove": ["react"],
            **{name: ["as", "in"] for name in PEOPLE_ACTIONS},
            **{name: ["in"] for name in ("archive", "unarchive", "delete", "reset")},
        },
        "if": {"required": ["say"]},
        "then": {"anyOf": [{"required": ["as"]}, {"required": ["via"]}]},
        "not": {"anyOf": [{"required": list(both)} for both in (("at", "after"), *SPEAKERS)]},
        "oneOf": [{"required": [action]} for action in STEP_ACTIONS],
    }
    return schema_document("Trunkline scenario, version 1", schema)
