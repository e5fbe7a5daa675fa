"""JSON Schema of scenario files, and of any file that is read into a model, for editors."""

import json
from itertools import combinations
from typing import Any, cast

from trunkline.core.config import Model
from trunkline.core.config.files.model_fields import texts_of, walk
from trunkline.sim.scenario.model.scenario import Scenario
from trunkline.sim.scenario.names import UNCHECKED, Names
from trunkline.sim.scenario.step_rules import BARE_ACTIONS, HOOK_ANSWERS, PEOPLE_ACTIONS, SPEAKERS, STEP_ACTIONS

#: the schema of null
NULL = {"type": "null"}


def model_schema(model: type[Model]) -> dict[str, Any]:
    """The schema of files that are read into `model`, by their names in the file."""
    return _tidy(_describe(model.model_json_schema(by_alias=True), model))


def schema_document(title: str, schema: dict[str, Any]) -> str:
    """A schema (draft 2020-12) as the text of its file; deterministic."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return json.dumps(head | schema, indent=2, ensure_ascii=False) + "\n"


def _describe(schema: dict[str, Any], root: type[Model]) -> dict[str, Any]:
    """Add the docstring of each field as its description."""
    definitions = {root.__name__: schema, **schema["$defs"]}
    for model in dict.fromkeys(model for _, model in walk(root)):
        fields = definitions[model.__name__].get("properties", {})
        for name, text in texts_of(model).items():
            fields[name] = dict(sorted({**fields[name], "description": text}.items()))
    return schema


def _tidy(schema: Any) -> Any:
    """Remove what is useless in an editor: generated titles, and null as an alternative to omitting a field."""
    if isinstance(schema, list):
        return [_tidy(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    tidy: dict[str, Any] = {}
    for name, value in _without_null(cast("dict[str, Any]", schema)).items():
        if name == "properties":
            tidy[name] = {field: _tidy(inner) for field, inner in value.items()}
        elif not (name == "title" and isinstance(value, str)) and not (name == "default" and value is None):
            tidy[name] = " ".join(value.split()) if name == "description" else _tidy(value)
    return tidy


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop null from an optional field: omitting it is enough."""
    options = schema.get("anyOf")
    if "default" not in schema or schema["default"] is not None or options is None:
        return schema
    others = [option for option in options if option != NULL]
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}


def schema_text(names: Names = UNCHECKED) -> str:
    """JSON Schema (draft 2020-12) of a scenario file; deterministic. `names`: those of plug-ins, for completion."""
    schema = model_schema(Scenario)
    definitions = schema["$defs"]
    definitions["Fault"] |= {"oneOf": [{"required": ["do"]}, {"required": ["plugin"]}]}
    added = {"AgentAction": names.agents, "HandRule": names.hands, "Hook": names.hooks, "Fault": names.faults}
    for model, known in added.items():
        if known:
            definitions[model]["properties"]["plugin"]["enum"] = sorted(known)
    if names.fakes:
        definitions["WorldSpec"]["properties"]["plugins"]["propertyNames"] = {"enum": sorted(names.fakes)}
    for field, words in (("bugs", names.bugs), ("with_bugs", names.bugs), ("breaks", names.invariants)):
        if words:
            schema["properties"][field]["items"]["enum"] = list(words)
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
            **{name: ["say"] for name in ("secret", "files", "reply_chain", "bot", "via", "proxy")},
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
