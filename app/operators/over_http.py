"""A gateway that is running, over its HTTP API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from trunkline.app.operators.http_client import HttpClient, segment
from trunkline.app.operators.port import Operator
from trunkline.core.errors import UnknownName
from trunkline.core.http.routes.hands import Taken
from trunkline.core.http.routes.queue import Purged
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.store.delegations import DelegationFilter, HandPost, PostVerb
from trunkline.core.store.operators.bindings import BindingsOverview
from trunkline.core.store.operators.hands import HandInspection, HandPosted, HandsOverview, TakenTask
from trunkline.core.store.operators.queue import IntentInspection, QueueChanges, QueueOverview
from trunkline.core.store.operators.sessions import SessionsPage, SessionSummary, TranscriptPage
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.values import DelegationId, IntentState

#: rows of a page
_PAGE = 500


class HttpOperator:
    """Asks a running gateway (see `Operator`), which answers as a store file does, by the same queries."""

    acts_at_once = True

    def __init__(self, client: HttpClient, token_file: Path | None) -> None:
        self._client = client
        self._token_file = token_file

    @staticmethod
    def at(url: str, token_file: Path | None) -> Operator:
        """The gateway at an address. Raises `UsageError` for what is no address, and for an unusable token."""
        return HttpOperator(HttpClient(url, token_file), token_file)

    @property
    def option(self) -> str:
        token = "" if self._token_file is None else f" --token-file {quote(str(self._token_file))}"
        return f"--url {quote(str(self._client.url))}{token}"

    # ------------------------------------------------------------ queue

    def queue(self, which: QueueFilter, *, limit: int) -> QueueOverview:
        query: dict[str, Any] = {"state": which.states, "channel": which.channel}
        page = self._client.get("/v1/queue", QueueOverview, limit=min(limit, _PAGE), **query)
        rows = page.rows
        while page.next is not None and len(rows) < limit:
            left = min(limit - len(rows), _PAGE)
            page = self._client.get("/v1/queue", QueueOverview, limit=left, cursor=page.next, **query)
            rows = (*rows, *page.rows)
        return msgspec.structs.replace(page, rows=rows)

    def intent(self, intent: str) -> IntentInspection:
        return self._client.get(f"/v1/queue/{_named('intent', intent)}", IntentInspection)

    def retry(self, intents: Sequence[str]) -> QueueChanges:
        return self._client.change("POST", "/v1/queue/retry", QueueChanges, {"intents": list(intents)})

    def retry_all(self, which: QueueFilter) -> QueueChanges:
        body = {"state": which.states, "channel": which.channel}
        return self._client.change("POST", "/v1/queue/retry", QueueChanges, body)

    def resolve(self, intent: str, verdict: QueueVerdict, *, message_id: str = "") -> QueueChanges:
        path = f"/v1/queue/{_named('intent', intent)}/resolve"
        return self._client.change("POST", path, QueueChanges, {"verdict": verdict, "message_id": message_id})

    def purgeable(self, which: QueueFilter, *, older_than: float | None) -> Mapping[IntentState, int]:
        return self._purge(which, older_than, dry_run=True).asked

    def purge(self, which: QueueFilter, *, older_than: float | None) -> int:
        return self._purge(which, older_than, dry_run=False).removed

    def _purge(self, which: QueueFilter, older_than: float | None, *, dry_run: bool) -> Purged:
        body = {"state": which.states, "channel": which.channel, "older_than": older_than, "dry_run": dry_run}
        return self._client.change("POST", "/v1/queue/purge", Purged, body)

    # ------------------------------------------------------------ bindings, sessions

    def bindings(self, *, ended: bool) -> BindingsOverview:
        return self._client.get("/v1/bindings", BindingsOverview, ended="true" if ended else "false")

    def unbind(self, binding: str, reason: str) -> SessionBindingRecord:
        path = f"/v1/bindings/{_named('binding', binding)}"
        return self._client.change("DELETE", path, SessionBindingRecord, reason=reason)

    def sessions(self) -> Iterator[SessionSummary]:
        cursor: str | None = ""
        while cursor is not None:
            page = self._client.get("/v1/sessions", SessionsPage, cursor=cursor, limit=_PAGE)
            yield from page.sessions
            cursor = page.next

    def transcript(self, name: str) -> Iterator[TranscriptPage]:
        cursor = ""
        while True:
            path = f"/v1/sessions/{_named('session', name)}/transcript"
            page = self._client.get(path, TranscriptPage, cursor=cursor, limit=_PAGE)
            yield page
            if not page.more or page.newer is None:
                return
            # The session of this key may be another one by now.
            name, cursor = page.session.session_id, page.newer

    # ------------------------------------------------------------ hands

    def hands(self, which: DelegationFilter, *, before: DelegationId | None, limit: int) -> HandsOverview:
        query: dict[str, Any] = {
            "state": which.states,
            "callback": which.callbacks,
            "hand": which.hand,
            "agent": which.agent,
        }
        page = self._client.get("/v1/hands", HandsOverview, before=before, limit=min(limit, _PAGE), **query)
        rows, broken = page.page.rows, page.page.broken
        while page.next is not None and len(rows) + len(broken) < limit:
            left = min(limit - len(rows) - len(broken), _PAGE)
            page = self._client.get("/v1/hands", HandsOverview, before=page.next, limit=left, **query)
            rows, broken = (*rows, *page.page.rows), (*broken, *page.page.broken)
        whole = msgspec.structs.replace(page.page, rows=rows, broken=broken)
        return msgspec.structs.replace(page, page=whole)

    def delegation(self, delegation: str) -> HandInspection:
        return self._client.get(f"/v1/hands/{_named('delegation', delegation)}", HandInspection)

    def post(self, post: HandPost) -> HandPosted:
        path = f"/v1/hands/{_named('delegation', post.delegation)}/{post.verb.value}"
        body: dict[str, Any] | None = None
        if post.verb in (PostVerb.ANSWER, PostVerb.PROGRESS):
            body = {"text": post.text, "ticket": post.ticket, "worker": post.by}
        if body is not None and post.outcome is not None:
            body["outcome"] = post.outcome
        return self._client.change("POST", path, HandPosted, body)

    def take(self, hand: str, worker: str) -> TakenTask | None:
        return self._client.change("POST", "/v1/hands/take", Taken, {"hand": hand, "worker": worker}).task


def _named(what: str, name: str) -> str:
    """A name as a part of a path, which cannot be empty."""
    if not name:
        raise UnknownName(f"no {what} ''")
    return segment(name)
