"""The same requests to our homeserver and to a real one, and in what the answers differ."""

from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
import msgspec


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `{name}` in its path and its body stands for a fact of the server."""

    name: str
    method: str
    path: str
    body: Any = None
    #: facts that the answer gives: name -> key of the answer
    gives: Mapping[str, str] = {}
    #: another token than the account's; empty: none
    token: str | None = None
    #: bytes instead of JSON
    raw: bytes | None = None


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: its status, its error code, and the types of its parts."""

    status: int
    errcode: str
    shape: frozenset[str]


async def answers(url: str, token: str, facts: dict[str, str], requests: tuple[Asked, ...]) -> dict[str, Given]:
    """Make the requests in order, with the facts that are known and those that answers give."""
    found: dict[str, Given] = {}
    async with aiohttp.ClientSession() as session:
        for one in requests:
            found[one.name] = await _answer(session, url, token, facts, one)
    return found


async def _answer(session: aiohttp.ClientSession, url: str, token: str, facts: dict[str, str], one: Asked) -> Given:
    used = token if one.token is None else one.token
    headers = {"Authorization": f"Bearer {used}"} if used else {}
    sent: dict[str, Any] = {} if one.body is None else {"json": _filled(one.body, facts)}
    if one.raw is not None:
        sent = {"data": one.raw}
    address = f"{url}/_matrix{_filled(one.path, facts)}"
    async with session.request(one.method, address, headers=headers, **sent) as response:
        body: Any = await response.json() if response.content_type == "application/json" else await response.read()
    if response.status == 200:
        facts.update({name: body[key] for name, key in one.gives.items()})
    errcode = body.get("errcode", "") if isinstance(body, dict) else ""
    return Given(status=response.status, errcode=errcode, shape=frozenset(_shape(body, "")))


def _filled(value: Any, facts: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, facts) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, facts) for one in value]
    if isinstance(value, str):
        for name, fact in facts.items():
            value = value.replace(f"{{{name}}}", fact)
    return value


def _shape(value: Any, path: str) -> Iterator[str]:
    """Every part of an answer as its path and its type. Ids that are keys are only what they are ids of."""
    if isinstance(value, dict):
        yield f"{path} object".strip()
        # Events are told apart by their type: each has parts of its own.
        kind = value.get("type")
        inside = f"{path}<{kind}>" if isinstance(kind, str) and kind.startswith(("m.", "org.")) else path
        for key, one in value.items():
            yield from _shape(one, f"{inside}.{_ID.get(key[:1], key)}")
    elif isinstance(value, list):
        yield f"{path} list".strip()
        for one in value:
            yield from _shape(one, f"{path}[]")
    else:
        names = {bool: "bool", int: "int", float: "float", str: "text", bytes: "bytes", type(None): "null"}
        yield f"{path} {names[type(value)]}".strip()


_ID = {"!": "ROOM", "@": "USER", "$": "EVENT"}


def differences(ours: Mapping[str, Given], real: Mapping[str, Given]) -> list[str]:
    """In what answers differ, one line each."""
    found: list[str] = []
    for name, one in ours.items():
        other = real[name]
        if (one.status, one.errcode) != (other.status, other.errcode):
            found.append(
                f"{name}: {one.status} {one.errcode} instead of {other.status} {other.errcode}".replace("  ", " ")
            )
            continue
        found += [f"{name}: only ours has {part}" for part in sorted(one.shape - other.shape)]
        found += [f"{name}: only the real one has {part}" for part in sorted(other.shape - one.shape)]
    return found
