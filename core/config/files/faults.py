"""Rewords errors of the models in terms of the file: what was expected, what was found, and the nearest valid word."""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from pydantic.alias_generators import to_snake

from trunkline.core.config.base import Model
from trunkline.core.config.files.model_fields import fields_of, homes_of, model_of, text_at, type_at
from trunkline.core.config.files.problems import Path, ProblemReport, dotted, nearest, shown
from trunkline.core.config.secrets import Secret

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "names_type": "a list of names, or a mapping of names",
    "names_item": "a name",
    "names_twice": "each name once",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}

#: messages of a model that begin with a field: ``bindings[0].agent: no agent 'x'``
_OWN_PLACE = re.compile(r"(?P<place>[a-z_]+(?:\[\d+\])?(?:\.[a-z_]+(?:\[\d+\])?)*): (?P<message>.*)", re.DOTALL)
_PART = re.compile(r"[a-z_]+|\d+")


class FileKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of file, as far as messages need it."""

    #: of the whole file
    model: type[Model]
    #: what messages call such a file, e.g. ``a scenario``
    name: str


def explain_fault(fault: Mapping[str, Any], tree: object, report: ProblemReport, kind: FileKind) -> None:
    """Report one error of the models of a file, worded for the file."""
    error = str(fault["type"])
    facts = cast("Mapping[str, Any]", fault.get("ctx") or {})
    path = cast("Path", tuple(fault["loc"]))
    if error in ("names_item", "names_twice"):
        path = (*path, int(facts["index"]))
    found = _value(tree, report.positions.find(path)[0])
    said = _named(found) if _may_be_secret(path, kind) else shown(found)
    match error:
        case "missing":
            report.add(path, f"the field `{path[-1]}` is missing", _docs(path, kind))
        case "extra_forbidden":
            _explain_unknown(path, tree, report, kind)
        case "literal_error" | "enum":
            words = _options(str(facts.get("expected", "")))
            expected = " or ".join(words) if len(words) == 1 else f"one of {', '.join(words)}"
            close = nearest(found, words) if isinstance(found, str) else None
            hint = "write it without quotes" if close == found else f"nearest valid word: {close!r}" if close else ""
            report.add(path, f"expected {expected}, found {said}", hint)
        case "too_short" | "string_too_short":
            if not found:  # a list whose items are all wrong is not too short
                report.add(path, f"expected {_filled(found)}, found {'an empty one' if found != '' else 'none'}")
        case "model_type" | "model_attributes_type" if model_of(type_at(path, kind.model)) is Secret:
            hint = "write {env: NAME} or {file: PATH}; a file never has the secret"
            report.add(path, f"expected the place of a secret, found {said}", hint)
        case "model_type" | "model_attributes_type":
            fields = ", ".join(fields_of(model)) if (model := model_of(type_at(path, kind.model))) else ""
            report.add(path, f"expected a mapping, found {said}", f"its fields: {fields}")
        case "string_pattern_mismatch":
            report.add(path, f"expected {_docs(path, kind) or 'another form'}, found {said}")
        case "value_error":
            _explain_value(path, found, str(fault["msg"]).removeprefix("Value error, "), report)
        case _ if error in _BOUNDS:
            word, key = _BOUNDS[error]
            report.add(path, f"expected {word} {facts[key]}, found {said}")
        case _:
            expected = _EXPECTED.get(error, "another value")
            report.add(path, f"expected {expected}, found {said}", _quotes(error, found))


def _may_be_secret(path: Path, kind: FileKind) -> bool:
    """Whether people may have written a secret at a path: in the place of one, or of what has one. It is not quoted."""
    types = [model_of(type_at(path[:end], kind.model)) for end in range(1, len(path) + 1)]
    own = types[-1] if types else None
    inside = own is not None and any(model_of(field.annotation) is Secret for field in fields_of(own).values())
    return Secret in types or inside


def _named(value: object) -> str:
    return "a text" if isinstance(value, str) else shown(value)


def explain_placed_fault(fault: Mapping[str, Any], tree: object, report: ProblemReport, kind: FileKind) -> None:
    """`explain_fault` for models whose message about several fields begins with the field to change."""
    message = str(fault["msg"]).removeprefix("Value error, ")
    own = _OWN_PLACE.fullmatch(message) if fault["type"] == "value_error" else None
    path = cast("Path", tuple(fault["loc"]))
    parts = tuple(int(part) if part.isdigit() else part for part in _PART.findall(own["place"])) if own else ()
    if own is None or not report.positions.find((*path, *parts[:1]))[1]:
        explain_fault(fault, tree, report, kind)
        return
    report.add((*path, *parts), own["message"])


def _explain_value(path: Path, found: object, message: str, report: ProblemReport) -> None:
    """Report an error in the model's own words, unless another problem of the gateway already explains it."""
    if not (path == ("gateway",) and any(problem.field.startswith("gateway.") for problem in report.problems)):
        # What joins several fields, or says what is missing, says more than that a mapping was found.
        joined = isinstance(found, dict | list)
        report.add(path, message if joined or repr(found) in message else f"{message}, found {shown(found)}")


def _explain_unknown(path: Path, tree: object, report: ProblemReport, kind: FileKind) -> None:
    """Report an unknown field, with the nearest one, the fields valid here, and where else it is valid."""
    name, parent = str(path[-1]), type_at(path[:-1], kind.model)
    known = list(fields_of(model)) if (model := model_of(parent)) else []
    twin = to_snake(name)
    if twin in known and twin != name and twin in _mapping(_value(tree, path[:-1])):
        report.add(path, f"this is the field `{twin}` again", "remove one", at_key=True)
        return
    hints = list[str]()
    if close := nearest(name, known):
        hints.append(f"nearest valid word: {close!r}")
    if homes := homes_of(name, kind.model):
        hints.append(f"this field belongs in {', '.join(homes[:3])}")
    if 0 < len(known) <= 12 or not hints:
        hints.append(f"fields here: {', '.join(known)}")
    owner = dotted(path[:-1]) or kind.name
    report.add(path, f"unknown field: expected a field of {owner}, found {name!r}", "; ".join(hints), at_key=True)


def _value(tree: Any, path: Path) -> Any:
    for part in path:
        if isinstance(tree, dict):
            tree = cast("dict[Any, Any]", tree).get(part)
        elif isinstance(tree, list) and isinstance(part, int):
            tree = cast("list[Any]", tree)[part]
        else:
            return None
    return tree


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _options(expected: str) -> list[str]:
    """The valid words, parsed from pydantic's message."""
    quoted = [word.replace("\\'", "'") for word in _QUOTED.findall(expected)]
    return quoted or [expected.lower()]


def _docs(path: Path, kind: FileKind) -> str:
    """The reference text of a field, as part of a sentence."""
    text = text_at(path, kind.model).partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _filled(found: object) -> str:
    if isinstance(found, str):
        return "a text"
    return "a mapping that is not empty" if isinstance(found, dict) else "a list that is not empty"


def _quotes(error: str, found: object) -> str:
    if error not in ("string_type", "names_item"):
        return ""
    if isinstance(found, dict | list):
        return "a text that begins with { or [ needs quotes"
    return "put it in quotes" if found is not None else "write '' for an empty text"
