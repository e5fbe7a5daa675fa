"""From a request to a call: parameters of the path, query and body, decoded and checked."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import inspect
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from trunkline.core.http.endpoint import JSON
from trunkline.core.http.problems import Problem
from trunkline.core.well_formed import decode_json


def path_of(scope: Scope) -> dict[str, str]:
    """The parameters of the path, percent-decoded. Raises `Problem` 400 for what is not UTF-8."""
    return {name: _decoded(str(value), "path") for name, value in scope.get("path_params", {}).items()}


def query_of(scope: Scope, type_: Any) -> Any:
    """The query as an instance of a struct, or none. Raises `Problem` 400 and 422."""
    raw = scope["query_string"].decode("ascii", "replace")
    found: dict[str, Any] = {}
    many = _lists(type_)
    for part in raw.split("&") if raw else ():
        name, _, value = part.partition("=")
        name, value = _of_form(name), _of_form(value)
        if name in many:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise Problem(422, "invalid-query", f"The parameter `{name}` is there twice.", field=name)
        else:
            found[name] = value
    if type_ is None:
        if found:
            raise Problem(422, "invalid-query", f"There is no parameter `{next(iter(found))}` here.")
        return None
    try:
        return msgspec.convert(found, type_, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(error, "invalid-query", "query") from None


def raw_query_of(scope: Scope) -> tuple[tuple[str, str], ...]:
    """The query as names and values. Raises `Problem` 400 for what is not UTF-8."""
    raw = scope["query_string"].decode("ascii", "replace")
    pairs = (part.partition("=") for part in raw.split("&") if part)
    return tuple((_of_form(name), _of_form(value)) for name, _, value in pairs)


def check_media_type(headers: Mapping[str, str]) -> None:
    """Raise `Problem` 415 unless the body is JSON in UTF-8."""
    given = headers.get("content-type", "")
    if given == JSON and "content-encoding" not in headers:
        return
    media_type, _, parameters = given.partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if media_type.strip().lower() != JSON or charset not in ("", "charset=utf-8"):
        raise Problem(415, "unsupported-media-type", f"The body must be `{JSON}` in UTF-8.", headers={"Accept": JSON})
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "unsupported-media-type", "Bodies with a `Content-Encoding` are not read.")


async def content_of(receive: Receive) -> bytes:
    """The body of a request. Raises `ClientDisconnect`."""
    parts = list[bytes]()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def body_of(content: bytes, type_: Any) -> Any:
    """A body as an instance of a struct. Raises `Problem` 400 for what is no JSON, 422 for wrong fields."""
    try:
        body = decode_json(_decoder(type_).decode, content)
        if _is_open(type_):
            _check_known(decode_json(msgspec.json.decode, content), inspect.type_info(type_), "$")
        return body
    except msgspec.ValidationError as error:
        raise _invalid(error, "invalid-body", "body") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Problem(400, "invalid-json", f"The body is not JSON: {said}") from None


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


@cache
def _is_open(type_: Any) -> bool:
    """Whether a body holds values of the core, which take unknown fields, as those of a newer version's store."""
    return any(isinstance(kind, inspect.StructType) and not kind.forbid_unknown_fields for kind in _inside(type_))


def _inside(type_: Any) -> Iterator[inspect.Type]:
    todo, seen = [inspect.type_info(type_)], set[type]()
    while todo:
        kind = todo.pop()
        if isinstance(kind, inspect.StructType):
            if kind.cls in seen:
                continue
            seen.add(kind.cls)
        yield kind
        todo += [inside for _, inside in _parts(kind)]


def _parts(kind: inspect.Type) -> list[tuple[str, inspect.Type]]:
    """The types directly in a type; fields of structs with their names."""
    match kind:
        case inspect.StructType(fields=fields):
            return [(field.encode_name, field.type) for field in fields]
        case inspect.UnionType(types=types) | inspect.TupleType(item_types=types):
            return [("", kind) for kind in types]
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return [("", kind.item_type)]
        case inspect.DictType(value_type=value):
            return [("", value)]
        case _:
            return []


def _check_known(value: Any, kind: inspect.Type, path: str) -> None:
    """Raise `Problem` 422 for a field that a struct does not have. The value is one that the type takes."""
    if isinstance(kind, inspect.UnionType):
        wanted = inspect.StructType if isinstance(value, dict) else inspect.CollectionType
        fits = [option for option in kind.types if isinstance(option, wanted)]
        if len(fits) == 1:
            _check_known(value, fits[0], path)
    elif isinstance(kind, inspect.StructType) and isinstance(value, dict):
        fields = dict(_parts(kind))
        for name, inside in cast("dict[str, Any]", value).items():
            if name not in fields:
                detail = f"The body is unusable: Object contains unknown field `{name}` (at {path})"
                raise Problem(422, "invalid-body", detail, field=path)
            _check_known(inside, fields[name], f"{path}.{name}")
    elif isinstance(kind, inspect.CollectionType) and isinstance(value, list):
        for n, inside in enumerate(cast("list[Any]", value)):
            _check_known(inside, kind.item_type, f"{path}[{n}]")


def _invalid(error: msgspec.ValidationError, type_: str, where: str) -> Problem:
    said, _, path = str(error).rpartition(" - at `")
    field = path.removesuffix("`") if said else "$"
    return Problem(422, type_, f"The {where} is unusable: {said or error} (at {field})", field=field)


def _of_form(text: str) -> str:
    return _decoded(text.replace("+", " "), "query")


def _decoded(text: str, where: str) -> str:
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise Problem(400, "not-utf-8", f"The {where} is not UTF-8.") from None


@cache
def _lists(type_: Any) -> frozenset[str]:
    if type_ is None:
        return frozenset()
    kinds = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
    info = inspect.type_info(type_)
    assert isinstance(info, inspect.StructType)
    return frozenset(field.encode_name for field in info.fields if isinstance(field.type, kinds))
