"""Endpoints that keep notes: what every endpoint has in common, without a subject of its own."""

from typing import Any, Literal

import anyio
import msgspec

from trunkline.core.errors import LeaseLost, StoreError, TrunklineError, UnknownName
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint, Reply
from trunkline.core.http.problems import Problem


class Writer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who writes."""

    name: str
    age: int | None = None


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is written."""

    text: str
    by: Writer | None = None
    tags: tuple[str, ...] = ()


class NoteQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which notes."""

    tag: tuple[Literal["a", "b/c"], ...] = ()
    limit: int = 10
    by: str | None = None


class Notes:
    """The notes that were kept."""

    def __init__(self) -> None:
        self.kept: list[Note] = []
        self.errors: dict[str, Exception] = {
            "store": StoreError("disk full"),
            "lease": LeaseLost("pid 7"),
            "unknown": UnknownName("no agent `x`"),
            "other": TrunklineError("odd"),
            "defect": ZeroDivisionError("secret detail"),
            "group": ExceptionGroup("a task group", [UnknownName("no agent `x`")]),
            "gone": Problem(410, "gone", "It is gone."),
        }

    async def keep(self, call: Call) -> Note:
        """Keep a note."""
        self.kept.append(call.body)
        return call.body

    async def show(self, call: Call) -> Any:
        """Say what was asked."""
        return {"query": call.query, "caller": call.caller.name}

    async def named(self, call: Call) -> Any:
        """Answer the parameter, or fail as it says."""
        name = call.path["name"]
        if name in self.errors:
            raise self.errors[name]
        if name == "accepted":
            return Reply(answer=name, status=202, headers={"Location": "/v1/notes/x"})
        return name

    async def wait(self, call: Call) -> str:
        """Answer never."""
        await anyio.sleep_forever()
        return ""

    def endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints."""
        path, read = "/v1/notes", Scope.READ
        return (
            Endpoint(method="POST", path=path, scope=Scope.SEND, summary="Keep", run=self.keep, body=Note, answer=Note),
            Endpoint(
                method="GET",
                path=path,
                scope=read,
                summary="Show",
                run=self.show,
                query=NoteQuery,
                answer=dict[str, Any],
            ),
            Endpoint(method="GET", path="/v1/wait", scope=read, summary="Wait", run=self.wait, answer=str),
            Endpoint(
                method="GET",
                path=f"{path}/{{name}}",
                scope=read,
                summary="One",
                run=self.named,
                answer=str,
                also=(202,),
            ),
        )
