"""The field references of configuration files, from their models."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from trunkline.app.serve.config import ServeConfig
from trunkline.core.adapters.config import AccountConfig
from trunkline.core.agents.config import AgentImplementation
from trunkline.core.config import Model
from trunkline.core.config.files.model_fields import bare, element, fields_of, model_of, texts_of, walk
from trunkline.core.config.secrets import Secret
from trunkline.sim.scenario.model.scenario import Scenario


def fields_reference() -> str:
    """The fields of a scenario file as Markdown."""
    return reference(Scenario)


def agents_reference() -> str:
    """The fields of what answers for an agent, in the file of `trunkline serve`."""
    return reference(AgentImplementation, "agents.<name>")


def serve_reference() -> str:
    """The fields of the file of `trunkline serve`, without those that have a page of their own."""
    own = (ServeConfig.__module__, AccountConfig.__module__, Secret.__module__)
    return reference(ServeConfig, shown=lambda model: model.__module__ in own)


def platforms_reference() -> str:
    """The fields of the accounts of real platforms."""
    other = (AccountConfig, Secret)
    return reference(AccountConfig, "accounts[]", shown=lambda model: model not in other)


def reference(root: type[Model], top: str = "", shown: Callable[[type[Model]], bool] = lambda _: True) -> str:
    """Models as Markdown: one section per model, one row per field."""
    parts = [""]
    seen: set[type[Model]] = set()
    for at, model in walk(root, top):
        if model in seen or not model.model_fields or not shown(model):
            continue
        seen.add(model)
        title = f"`{at}`" if at else "The file"
        parts += [f"### {title}", "", _paragraph(model.__doc__ or ""), "", *_rows(model), ""]
    return "\n".join(parts)


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
    if value is None or value is PydanticUndefined or isinstance(value, Model | dict) or value == "":
        return ""
    if isinstance(value, tuple):
        items = value
        words = ", ".join(
            item if isinstance(item, str) else f"{item:g}" for item in items if not isinstance(item, Model)
        )
        return f"`[{words}]`" if words else ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}s`" if isinstance(value, float) else f"`{value}`"


def _paragraph(text: str) -> str:
    return " ".join(text.split())
