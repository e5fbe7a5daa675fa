"""The requests that are made of both homeservers, in order: all that clients of ours make, and mistakes."""

from typing import Any
from urllib.parse import quote

from tests.support.synapse.comparing import Asked

_V3, _V1 = "/client/v3", "/client/v1"
_ROOM = f"{_V3}/rooms/{{room}}"
_MESSAGE = f"{_ROOM}/send/m.room.message"
_FILTER = (
    '{"presence":{"not_types":["*"]},"account_data":{"types":["m.direct"]},"room":{"timeline":{"limit":50,'
    '"types":["m.room.message"]},"state":{"types":["m.room.member","m.room.encryption"]},'
    '"ephemeral":{"not_types":["*"]},"account_data":{"not_types":["*"]}}}'
)
_SYNC = f"{_V3}/sync?filter={quote(_FILTER)}"
_REACTION = f"{_ROOM}/send/m.reaction"


def _text(body: str, **more: Any) -> Any:
    return {"msgtype": "m.text", "body": body, **more}


def _about(kind: str, event: str, **more: Any) -> Any:
    return {"m.relates_to": {"rel_type": kind, "event_id": event, **more}}


def _edit(event: str) -> Any:
    return {**_text("* two"), "m.new_content": _text("two"), **_about("m.replace", event)}


def _plus(event: str) -> Any:
    return _about("m.annotation", event, key="+")


def _poll() -> Any:
    start = {
        "question": {"org.matrix.msc1767.text": "Which?", "body": "Which?", "msgtype": "m.text"},
        "kind": "org.matrix.msc3381.poll.disclosed",
        "max_selections": 1,
        "answers": [{"id": str(n), "org.matrix.msc1767.text": one} for n, one in enumerate(("red", "green"), 1)],
    }
    return {"org.matrix.msc3381.poll.start": start, "org.matrix.msc1767.text": "Which?"}


def _one(name: str, method: str, path: str, body: Any = None, **more: Any) -> Asked:
    return Asked(name=name, method=method, path=path, body=body, **more)


_START = (
    _one("versions", "GET", "/client/versions", token=""),
    _one("login flows", "GET", f"{_V3}/login", token=""),
    _one(
        "login with a wrong password",
        "POST",
        f"{_V3}/login",
        token="",
        body={"type": "m.login.password", "identifier": {"type": "m.id.user", "user": "{me}"}, "password": "wrong"},
    ),
    _one("whoami", "GET", f"{_V3}/account/whoami"),
    _one("whoami without a token", "GET", f"{_V3}/account/whoami", token=""),
    _one("whoami with a wrong token", "GET", f"{_V3}/account/whoami", token="wrong"),
    _one("an unknown endpoint", "GET", f"{_V3}/nothing"),
    _one("capabilities", "GET", f"{_V3}/capabilities"),
    _one("joined rooms", "GET", f"{_V3}/joined_rooms"),
    _one("first sync", "GET", f"{_SYNC}&timeout=0", gives={"since": "next_batch"}),
    _one("sync with nothing new", "GET", f"{_SYNC}&timeout=0&since={{since}}"),
    _one("sync from no token", "GET", f"{_SYNC}&since=garbage"),
)
_SENDS = (
    _one("send", "PUT", f"{_MESSAGE}/t1", _text("one"), gives={"message": "event_id"}),
    _one("send again", "PUT", f"{_MESSAGE}/t1", _text("one"), gives={"again": "event_id"}),
    _one("send no JSON", "PUT", f"{_MESSAGE}/t2", raw=b"{"),
    _one("send a list", "PUT", f"{_MESSAGE}/t3", ["one"]),
    _one("send too much", "PUT", f"{_MESSAGE}/t4", _text("x" * 70_000)),
    _one("send without a body", "PUT", f"{_MESSAGE}/t5", {"msgtype": "m.text"}),
    _one("send to no room", "PUT", f"{_V3}/rooms/!nowhere:example.org/send/m.room.message/t6", _text("x")),
    _one(
        "open a thread",
        "PUT",
        f"{_MESSAGE}/t7",
        {**_text("in it"), **_about(kind="m.thread", event="{message}")},
        gives={"reply": "event_id"},
    ),
    _one("a thread on a reply in a thread", "PUT", f"{_MESSAGE}/t8", {**_text("x"), **_about("m.thread", "{reply}")}),
    _one("a thread on nothing", "PUT", f"{_MESSAGE}/t9", {**_text("x"), **_about("m.thread", "$nothing")}),
    _one("send a poll", "PUT", f"{_ROOM}/send/org.matrix.msc3381.poll.start/t10", _poll(), gives={"poll": "event_id"}),
    _one(
        "vote",
        "PUT",
        f"{_ROOM}/send/org.matrix.msc3381.poll.response/t11",
        {**_about("m.reference", "{poll}"), "org.matrix.msc3381.poll.response": {"answers": ["1"]}},
    ),
    _one("sync after sends", "GET", f"{_SYNC}&timeout=0&since={{since}}", gives={"later": "next_batch"}),
)
_CHANGES = (
    _one("edit", "PUT", f"{_MESSAGE}/e1", _edit("{message}")),
    _one("edit nothing", "PUT", f"{_MESSAGE}/e2", _edit("$nothing")),
    _one("react", "PUT", f"{_REACTION}/r1", _plus("{message}"), gives={"reaction": "event_id"}),
    _one("react again with the same transaction", "PUT", f"{_REACTION}/r1", _plus("{message}")),
    _one("react again", "PUT", f"{_REACTION}/r2", _plus("{message}")),
    _one("react to nothing", "PUT", f"{_REACTION}/r3", _plus("$nothing")),
    _one("reactions", "GET", f"{_V1}/rooms/{{room}}/relations/{{message}}/m.annotation/m.reaction"),
    _one("reactions of nothing", "GET", f"{_V1}/rooms/{{room}}/relations/$nothing/m.annotation/m.reaction"),
    _one("messages of a thread", "GET", f"{_V1}/rooms/{{room}}/relations/{{message}}/m.thread"),
    _one("votes", "GET", f"{_V1}/rooms/{{room}}/relations/{{poll}}/m.reference"),
    _one("an edited event", "GET", f"{_ROOM}/event/{{message}}"),
    _one("take a reaction away", "PUT", f"{_ROOM}/redact/{{reaction}}/d1", {}),
    _one("pin", "PUT", f"{_ROOM}/state/m.room.pinned_events", {"pinned": ["{message}"]}),
    _one("pins", "GET", f"{_ROOM}/state/m.room.pinned_events"),
    _one("delete", "PUT", f"{_ROOM}/redact/{{reply}}/d2", {}),
    _one("delete nothing", "PUT", f"{_ROOM}/redact/$nothing/d3", {}),
    _one("a deleted event", "GET", f"{_ROOM}/event/{{reply}}"),
    _one("no event", "GET", f"{_ROOM}/event/$nothing"),
)
_ROOMS = (
    _one("members", "GET", f"{_ROOM}/joined_members"),
    _one("members of no room", "GET", f"{_V3}/rooms/!nowhere:example.org/joined_members"),
    _one("no encryption", "GET", f"{_ROOM}/state/m.room.encryption"),
    _one("the name of a room", "GET", f"{_ROOM}/state/m.room.name"),
    _one("power levels", "GET", f"{_ROOM}/state/m.room.power_levels"),
    _one("state of no room", "GET", f"{_V3}/rooms/!nowhere:example.org/state/m.room.name"),
    _one("a page", "GET", f"{_ROOM}/messages?dir=b&limit=2&from={{later}}"),
    _one("a page of no room", "GET", f"{_V3}/rooms/!nowhere:example.org/messages?dir=b"),
    _one("a page in no direction", "GET", f"{_ROOM}/messages?dir=x"),
    _one("join a room again", "POST", f"{_ROOM}/join", {}),
    _one("join a room without an invitation", "POST", f"{_V3}/rooms/{{closed}}/join", {}),
    _one("an unknown alias", "GET", f"{_V3}/directory/room/%23nothing:{{home}}"),
    _one("typing", "PUT", f"{_ROOM}/typing/{{me}}", {"typing": True, "timeout": 1000}),
    _one("receipt", "POST", f"{_ROOM}/receipt/m.read/{{message}}", {}),
)
_ACCOUNT = (
    _one("direct rooms", "GET", f"{_V3}/user/{{me}}/account_data/m.direct"),
    _one("unknown account data", "GET", f"{_V3}/user/{{me}}/account_data/m.nothing"),
    _one("account data of others", "GET", f"{_V3}/user/{{person}}/account_data/m.direct"),
    _one("a filter", "POST", f"{_V3}/user/{{me}}/filter", {}),
    _one("profile", "GET", f"{_V3}/profile/{{person}}"),
    _one("profile of nobody", "GET", f"{_V3}/profile/@nobody:{{home}}"),
    _one("change the own name", "PUT", f"{_V3}/profile/{{me}}/displayname", {"displayname": "Lamp"}),
    _one("change the name of others", "PUT", f"{_V3}/profile/{{person}}/displayname", {"displayname": "Lamp"}),
    _one("upload", "POST", "/media/v3/upload?filename=a.png", raw=b"a lamp", gives={"file": "content_uri"}),
    _one("no file", "GET", f"{_V1}/media/download/{{home}}/nothing"),
    _one("size of files", "GET", f"{_V1}/media/config"),
)
REQUESTS = (*_START, *_SENDS, *_CHANGES, *_ROOMS, *_ACCOUNT)
