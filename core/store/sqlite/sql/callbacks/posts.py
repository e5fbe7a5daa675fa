"""The SQL of what other processes leave for the gateway that works the store.

A post is removed by the transaction that applies it. So a crash loses none, and none is applied twice.
"""

import hmac
import sqlite3

from trunkline.core.errors import AnswerRefused, IllegalTransition, UnknownName
from trunkline.core.hands.callback_fold import can_discard, can_retry
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind
from trunkline.core.states.delegation import OPEN_WORK, CallbackState, HandOutcome
from trunkline.core.store.delegations import DropPost, HandPost, HasPosts, PostToGateway, PostVerb, ReadPosts
from trunkline.core.values import DelegationId, IntentState

#: of a row that an earlier version accepted
DEFAULT_MAX_RESULT = 10_000_000
#: answers of one delegation that may wait; together they may have twice the characters of the longest result
_MOST_WAITING = 50
_INSERT = "INSERT INTO hand_posts (delegation_id, verb, outcome, text, by, ticket, at) VALUES (?, ?, ?, ?, ?, ?, ?)"


def leave(c: sqlite3.Connection, post: HandPost) -> None:
    outcome = None if post.outcome is None else post.outcome.value
    c.execute(_INSERT, (post.delegation, post.verb.value, outcome, post.text, post.by, post.ticket, post.at))


def post_to_gateway(c: sqlite3.Connection, command: PostToGateway) -> bool:
    post = command.post
    row = c.execute(
        "SELECT state, callback, callback_reason, kind, ticket, max_result FROM delegations WHERE id = ?",
        (post.delegation,),
    ).fetchone()
    if row is None:
        raise unknown(c, post.delegation)
    state, callback, reason, kind, ticket, most = row
    if post.verb in (PostVerb.ANSWER, PostVerb.PROGRESS):
        if kind != HandKind.WORKER.value:
            raise AnswerRefused(f"{post.delegation}: its hand is no worker", Reason.NOT_A_WORKER)
        check_ticket(post.delegation, ticket, post.ticket)
        check_length(post.delegation, post.text, most)
    ended = state not in [open_state.value for open_state in OPEN_WORK]
    if ended and post.verb in (PostVerb.PROGRESS, PostVerb.CANCEL):
        raise AnswerRefused(f"{post.delegation} has ended: it is {state}", Reason.ALREADY_FINISHED)
    _check_callback(c, post, callback, reason)
    waiting = _check_waiting(c, post, most)
    if post.verb is PostVerb.PROGRESS:
        c.execute("DELETE FROM hand_posts WHERE delegation_id = ? AND verb = 'progress'", (post.delegation,))
    leave(c, post)
    return not ended and not waiting


def _check_waiting(c: sqlite3.Connection, post: HandPost, most: int | None) -> int:
    """How many answers wait. Raises for one more than may: while no gateway runs, nothing else bounds the file."""
    waiting, size = c.execute(
        "SELECT count(*), coalesce(sum(length(text)), 0) FROM hand_posts WHERE delegation_id = ? AND verb = 'answer'",
        (post.delegation,),
    ).fetchone()
    limit = DEFAULT_MAX_RESULT if most is None else most
    if post.verb is PostVerb.ANSWER and waiting and (waiting >= _MOST_WAITING or size + len(post.text) > 2 * limit):
        facts = f"{post.delegation} has {waiting} answers that the gateway has not picked up; no more are kept"
        raise AnswerRefused(facts, Reason.ALREADY_FINISHED)
    return waiting


def _check_callback(c: sqlite3.Connection, post: HandPost, callback: str, reason: str | None) -> None:
    """Raise for a request that the state of the callback does not allow."""
    if post.verb not in (PostVerb.RETRY_CALLBACK, PostVerb.DISCARD):
        return
    try:
        state, why = CallbackState(callback), None if reason is None else Reason(reason)
    except ValueError:
        allowed = False
    else:
        allowed = can_discard(state) if post.verb is PostVerb.DISCARD else can_retry(state, why, _messages(c, post))
    if not allowed:
        raise IllegalTransition(f"{post.delegation}: {post.verb.value} is not possible, its report is {callback}")


def _messages(c: sqlite3.Connection, post: HandPost) -> set[IntentState]:
    """The states of the messages of a delegation, as far as they can be read."""
    found = c.execute("SELECT DISTINCT state FROM intents WHERE delegation_id = ?", (post.delegation,))
    known = {state.value: state for state in IntentState}
    return {known[state] for (state,) in found if state in known}


def unknown(c: sqlite3.Connection, delegation: str) -> UnknownName:
    """The error for an id that no delegation has; it names similar ones."""
    near = c.execute("SELECT id FROM delegations WHERE instr(id, ?) ORDER BY n DESC LIMIT 3", (delegation,)).fetchall()
    hint = f"; did you mean {', '.join(str(name) for (name,) in near)}?" if near and delegation else ""
    return UnknownName(f"no delegation {delegation!r}{hint}")


def check_ticket(delegation: str, stored: str | None, given: str | None) -> None:
    """Raise for an answer of one who has not taken the task."""
    if stored is None:
        raise AnswerRefused(f"{delegation}: no worker has taken the task", Reason.WRONG_TICKET)
    # Compared in constant time: what a wrong guess takes says nothing about the ticket.
    if not isinstance(given, str) or not hmac.compare_digest(_bytes(given), _bytes(stored)):
        raise AnswerRefused(f"{delegation}: the ticket is not that of the worker that took it", Reason.WRONG_TICKET)


def _bytes(ticket: str) -> bytes:
    return ticket.encode("utf-8", "surrogatepass")


def check_length(delegation: str, text: str, most: int | None) -> None:
    """Raise for a text that is longer than results may be."""
    limit = DEFAULT_MAX_RESULT if most is None else most
    if len(text) > limit:
        facts = f"{delegation}: the text has {len(text)} characters, and {limit} are allowed"
        raise AnswerRefused(facts, Reason.RESULT_TOO_LARGE)


def has_posts(c: sqlite3.Connection, _: HasPosts) -> bool:
    return c.execute("SELECT 1 FROM hand_posts LIMIT 1").fetchone() is not None


def read_posts(c: sqlite3.Connection, query: ReadPosts) -> tuple[HandPost, ...]:
    asked = query.delegation
    which, values = ("", ()) if asked is None else ("AND delegation_id = ?", (asked,))
    found: list[HandPost] = []
    size = 0
    # Two queries in the order of the rows: sorted by one, all texts would be in memory at once.
    for verbs in ("IN", "NOT IN"):
        for row in c.execute(_LIST.format(verbs, which), (*values, query.limit - len(found))):
            found.append(_post_of(row))
            size += len(row[4])
            if size >= _ENOUGH:
                return tuple(found)
    return tuple(found)


#: bytes of texts that are read at a time: a hundred long answers might not fit into memory
_ENOUGH = 16 * 1024 * 1024


_LIST = (
    "SELECT n, CAST(delegation_id AS BLOB), CAST(verb AS BLOB), CAST(outcome AS BLOB), CAST(text AS BLOB),"
    " CAST(by AS BLOB), CAST(ticket AS BLOB), at FROM hand_posts"
    " WHERE verb {} ('taken', 'progress', 'answer') {} ORDER BY n LIMIT ?"
)


def _post_of(row: tuple[int, bytes, bytes, bytes | None, bytes, bytes, bytes | None, float]) -> HandPost:
    """A post. One that cannot be read says so, and stops no other."""
    n, delegation, verb, outcome, text, by, ticket, at = row
    name = DelegationId(delegation.decode("utf-8", "replace"))
    try:
        return HandPost(
            n=n,
            delegation=name,
            verb=PostVerb(verb.decode()),
            outcome=None if outcome is None else HandOutcome(outcome.decode()),
            text=text.decode(),
            by=by.decode(),
            ticket=None if ticket is None else ticket.decode(),
            at=at,
        )
    except (ValueError, TypeError) as error:
        return HandPost(n=n, delegation=name, verb=PostVerb.PROGRESS, problem=f"{type(error).__name__}: {error}")


def drop_post(c: sqlite3.Connection, command: DropPost) -> bool:
    return take_post(c, command.n)


def is_there(c: sqlite3.Connection, post: int | None) -> bool:
    """Whether a post still applies. A command without one always does."""
    return post is None or c.execute("SELECT 1 FROM hand_posts WHERE n = ?", (post,)).fetchone() is not None


def take_post(c: sqlite3.Connection, post: int | None) -> bool:
    """Remove the post that a command applies; whether it still applies. A command without one always does."""
    return post is None or c.execute("DELETE FROM hand_posts WHERE n = ?", (post,)).rowcount == 1
