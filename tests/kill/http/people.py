"""People who chat with a server that is killed: each repeats what is unanswered, under the same message id."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio
import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

#: seconds until an answer counts as missing
_PATIENCE = 10.0
#: seconds between two tries; a server needs a while to start
_PAUSE = (0.01, 0.15)
#: people of one group
_IN_GROUP = 4
CHANNEL = "webchat"
#: intent and text of each reply
Replies = tuple[tuple[str, str], ...]


@dataclass
class Person:
    """One person, and what they have seen."""

    name: str
    #: id of the group that they write in; none: a direct conversation
    group: str | None
    #: ids of their messages in order, each with its text
    said: dict[str, str] = field(default_factory=dict[str, str])
    #: by message id: every complete answer, as texts of replies with their intents
    answers: dict[str, list[tuple[tuple[str, str], ...]]] = field(
        default_factory=dict[str, list[tuple[tuple[str, str], ...]]]
    )
    #: places of answers, which must be their own
    places: set[str] = field(default_factory=set[str])
    #: over a WebSocket: cursor and text of each message, in the order in which they came
    seen: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    #: inbound ids that the server gave to each message
    inbounds: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    #: requests and frames that had no answer
    tries: int = 0
    #: what must not happen
    wrong: list[str] = field(default_factory=list[str])

    @property
    def conversation(self) -> str:
        """The conversation in which they write."""
        return self.group or self.name

    def expected(self, text: str) -> str:
        """What the agent answers."""
        return text if self.group is None else f"{self.name}: {text}"


def person(n: int, *, groups: bool) -> Person:
    """Person number `n`. With `groups`, every third one writes in a group."""
    group = f"group{n // _IN_GROUP}" if groups and n % 3 == 0 else None
    return Person(name=f"person{n}", group=group)


class Chats:
    """Talks to the server at an address until it is time to stop; then everything is answered first."""

    def __init__(self, base: str, token: str, seed: int, enough: Callable[[], bool]) -> None:
        self._base = base
        self._token = token
        self._seed = seed
        self._enough = enough

    def _next(self, who: Person) -> tuple[str, str]:
        n = len(who.said)
        # Repeats of one id have one text; different messages may have the same one.
        message, text = f"{who.name}-{n}", f"{who.name} says {n}"
        who.said[message] = text
        return message, text

    # ------------------------------------------------------------ over HTTP

    async def over_http(self, who: Person) -> None:
        """Say one thing after the other."""
        random = Random(f"{self._seed}/{who.name}")
        headers = {"Authorization": f"Bearer {self._token}"}
        async with httpx.AsyncClient(base_url=self._base, headers=headers, timeout=_PATIENCE, trust_env=False) as http:
            while not self._enough():
                message, text = self._next(who)
                while not await self._post(http, who, message, text):
                    who.tries += 1
                    await anyio.sleep(random.uniform(*_PAUSE))
                if random.random() < 0.2:
                    # Answered already: the answer must be the same.
                    await self._post(http, who, message, text)

    async def _post(self, http: httpx.AsyncClient, who: Person, message: str, text: str) -> bool:
        peer: dict[str, Any] = {"kind": "direct", "id": who.name, "name": who.name}
        body: dict[str, Any] = {"channel": CHANNEL, "message_id": message, "text": text, "wait": 5}
        if who.group is not None:
            body["sender"], peer = {"id": who.name, "name": who.name}, {"kind": "group", "id": who.group}
        try:
            answer = await http.post("/v1/chat/inbound", json={**body, "peer": peer})
            found = answer.json()
        except (httpx.HTTPError, ValueError):
            return False
        if answer.status_code != 200:
            if answer.status_code not in (429, 503):
                who.wrong.append(f"{message}: {answer.status_code} {answer.text}")
            return False
        who.inbounds.setdefault(message, set()).add(found["id"])
        if not found["complete"]:
            return False
        payloads = found["outbound_payloads"]
        who.places |= {payload["address"]["conversation"] for payload in payloads}
        replies = tuple((payload["intent_id"], payload["text"]) for payload in payloads)
        who.answers.setdefault(message, []).append(replies)
        return True

    # ------------------------------------------------------------ over a WebSocket

    async def over_socket(self, who: Person) -> None:
        """Say one thing after the other; after each loss of the connection, go on behind the cursor."""
        random, url = Random(f"{self._seed}/{who.name}"), self._base.replace("http", "ws") + "/v1/chat/ws"
        open_message: tuple[str, str] | None = None
        while open_message is not None or not self._enough():
            try:
                async with connect(url, open_timeout=_PATIENCE, proxy=None) as socket:
                    open_message = await self._talk(socket, who, open_message)
            except _Lost as lost:
                open_message = lost.message
            except (OSError, WebSocketException, TimeoutError):
                pass
            who.tries += 1
            await anyio.sleep(random.uniform(*_PAUSE))

    async def _talk(
        self, socket: ClientConnection, who: Person, message: tuple[str, str] | None
    ) -> tuple[str, str] | None:
        cursor = who.seen[-1][0] if who.seen else 0
        hello = {"type": "hello", "token": self._token, "peer": {"id": who.name, "name": who.name}, "after": cursor}
        try:
            await socket.send(json.dumps(hello))
            while True:
                if message is None:
                    if self._enough():
                        return None
                    message = self._next(who)
                await socket.send(json.dumps({"type": "say", "id": message[0], "text": message[1]}))
                await self._until_answered(socket, who, message)
                message = None
        except (OSError, WebSocketException, TimeoutError):
            raise _Lost(message) from None

    async def _until_answered(self, socket: ClientConnection, who: Person, message: tuple[str, str]) -> None:
        """Take frames until the message is stored and its answer has come: answers come in order."""
        stored = False
        with anyio.fail_after(_PATIENCE):
            while not stored or len(who.seen) < len(who.said):
                frame = json.loads(await socket.recv())
                kind = frame["type"]
                if kind == "message":
                    who.seen.append((frame["cursor"], frame["text"]))
                elif kind == "said" and frame["id"] == message[0]:
                    stored = True
                    who.inbounds.setdefault(message[0], set()).add(frame["inbound"])
                elif kind == "problem":
                    if frame["problem"]["status"] != 503:
                        who.wrong.append(f"{message[0]}: {frame['problem']}")
                    raise TimeoutError


class _Lost(Exception):
    """The connection was lost; `message` has no answer yet."""

    def __init__(self, message: tuple[str, str] | None) -> None:
        super().__init__()
        self.message = message
