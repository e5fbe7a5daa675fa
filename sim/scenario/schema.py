"""Generates the JSON Schema of scenario files, for editors, and the field reference, both from the models.

``python -m trunkline.sim.scenario docs`` writes them into a clone. The schema has only snake_case names; the loader
also accepts upstream's camelCase.
"""

from __future__ import annotations

import json
import types
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from trunkline.core.config import Model
from trunkline.sim.scenario.model.scenario import Scenario
from trunkline.sim.scenario.model_fields import bare, element, fields_of, model_of, texts_of, walk
from trunkline.sim.scenario.step_rules import BARE_ACTIONS, HOOK_ANSWERS, SPEAKERS, STEP_ACTIONS

#: in docs/scenarios.md, everything after this line is generated
GENERATED = "<!-- What follows is made by `python -m trunkline.sim.scenario docs`. -->"

_NULL = {"type": "null"}
_SECTION = {"": "The file"}


def schema_text() -> str:
    """JSON Schema (draft 2020-12) of a scenario file; deterministic."""
    schema = _tidy(_described(Scenario.model_json_schema(by_alias=True)))
    definitions = schema["$defs"]
    definitions["Action"] |= {"minProperties": 1, "maxProperties": 1}
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
        fields[name] = {"anyOf": [fields[name], _NULL]}
    definitions["ScriptStep"] |= {
        "dependentRequired": {
            "say": ["in"],
            **{name: ["say"] for name in ("as", "secret", "reply_chain", "bot", "via", "proxy")},
            "locked": ["archive"],
            **{name: ["in"] for name in ("archive", "unarchive", "delete", "reset")},
        },
        "if": {"required": ["say"]},
        "then": {"anyOf": [{"required": ["as"]}, {"required": ["via"]}]},
        "not": {"anyOf": [{"required": list(both)} for both in (("at", "after"), *SPEAKERS)]},
        "oneOf": [{"required": [action]} for action in STEP_ACTIONS],
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Trunkline scenario, version 1"}
    return json.dumps(head | schema, indent=2, ensure_ascii=False) + "\n"


def reference_text() -> str:
    """The fields of a scenario file as Markdown: one section per model, one row per field."""
    parts = [GENERATED, ""]
    seen: dict[type[Model], str] = {}
    for at, model in walk():
        if model in seen or (not model.model_fields):
            continue
        title = _SECTION.get(at) or f"`{at}`"
        seen[model] = title
        parts += [f"### {title}", "", _paragraph(model.__doc__ or ""), "", *_rows(model), ""]
    return "\n".join(parts).rstrip() + "\n"


def write(folder: Path) -> None:
    """Write the schema and the generated part of the reference into a docs folder."""
    (folder / "scenario.schema.json").write_text(schema_text(), encoding="utf-8")
    page = folder / "scenarios.md"
    head = page.read_text(encoding="utf-8").partition(GENERATED)[0]
    page.write_text(head + reference_text(), encoding="utf-8")


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """Add the docstring of each field as its description."""
    definitions = {Scenario.__name__: schema, **schema["$defs"]}
    for model in dict.fromkeys(model for _, model in walk()):
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
            tidy[name] = _paragraph(value) if name == "description" else _tidy(value)
    return tidy


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop null from an optional field: omitting it is enough."""
    options = schema.get("anyOf")
    if "default" not in schema or schema["default"] is not None or options is None:
        return schema
    others = [option for option in options if option != _NULL]
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}


def _rows(model: type[Model]) -> list[str]:
    rows = ["| field | value | default | |", "|---|---|---|---|"]
    for name, info in fields_of(model).items():
        rows.append(f"| `{name}` | {_kind(info.annotation)} | {_default(info)} | {described(model, name)} |")
    return rows


def described(owner: type[Model], name: str) -> str:
    """The text of a field, else of its model."""
    annotation = fields_of(owner)[name].annotation
    model = model_of(annotation) or model_of(element(annotation))
    return _paragraph(texts_of(owner).get(name) or (model and model.__doc__) or "")


def _kind(annotation: Any) -> str:
    """A type as the reference names it."""
    found = bare(annotation)
    if model_of(found) is not None:
        return "mapping"
    if get_origin(found) is dict:
        return f"mapping of name to {_kind(element(found))}"
    if get_origin(found) is tuple:
        return f"list of {_kind(element(found))}"
    if get_origin(found) is Literal:
        return " ".join(f"`{str(word).lower() if word is True else word}`" for word in get_args(found))
    if isinstance(found, type) and issubclass(found, StrEnum):
        return " ".join(f"`{word}`" for word in found)
    words: dict[Any, str] = {str: "text", int: "whole number", float: "time", bool: "`true` `false`"}
    return words.get(found, "value")


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is None or value is PydanticUndefined or isinstance(value, Model | dict | types.NoneType) or value == "":
        return ""
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return "" if not items or isinstance(items[0], Model) else f"`[{', '.join(f'{item:g}' for item in items)}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}s`" if isinstance(value, float) else f"`{value}`"


def _paragraph(text: str) -> str:
    return " ".join(text.split())
