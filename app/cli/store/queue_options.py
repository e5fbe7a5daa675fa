"""``trunkline queue``: what a gateway has to say and has said, and an operator's hands in it, on a store file.

A gateway may be running on the store. What is needed is imported when a command is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Group, Parameter

from trunkline.core.errors import UsageError
from trunkline.core.values import IntentState

if TYPE_CHECKING:
    from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict

app = App(
    name="queue",
    help="What a gateway has to say and has said: look at it, and decide what it cannot decide. "
    "Exit code: 0 done, 1 not possible and nothing was changed, 2 wrong usage or file.",
)

_WHICH = Group("Which", sort_key=1)
_OUTPUT = Group("Output", sort_key=2)
#: an id is what it is
Id = Annotated[str, Parameter(allow_leading_hyphen=True)]
States = Annotated[tuple[IntentState, ...], Parameter(group=_WHICH, negative=(), show_default=False)]
Channel = Annotated[str, Parameter(group=_WHICH, show_default=False)]
Json = Annotated[bool, Parameter(group=_OUTPUT, negative=(), show_default=False)]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


@app.command(name="list")
def list_(
    *,
    store: Path,
    state: States = (),
    channel: Channel = "",
    all: Annotated[bool, Parameter(group=_WHICH, negative=(), show_default=False)] = False,  # noqa: A002
    limit: Annotated[int, Parameter(group=_OUTPUT)] = 100,
    json: Json = False,
) -> int:
    """List intents, oldest first: by default those that want attention, and those that are still to be sent.

    The first line tells how many there are in all, by state.

    Parameters
    ----------
    store:
        The store file of a gateway.
    state:
        Only those in this state, e.g. `dead`. May be given several times.
    channel:
        Only those to this platform, e.g. `discord`.
    all:
        Also those that are delivered or cancelled.
    limit:
        At most so many.
    json:
        Print JSON.
    """
    from trunkline.app.cli.store.queue import print_list
    from trunkline.core.store.queue_admin import QueueFilter

    return print_list(store, QueueFilter(states=state, channel=channel), everything=all, limit=limit, json=json)


@app.command
def show(intent: Id, /, *, store: Path, json: Json = False) -> int:
    """Show one intent: its chunks and receipts, what is known of its tries, and what can be done to it now.

    Parameters
    ----------
    intent:
        Its id, as `trunkline queue list` tells it.
    store:
        The store file of a gateway.
    json:
        Print JSON.
    """
    from trunkline.app.cli.store.queue import print_one

    return print_one(store, intent, json=json)


@app.command
def retry(
    *intents: str,
    store: Path,
    state: States = (),
    channel: Channel = "",
    json: Json = False,
) -> int:
    """Have intents that have ended tried again, from their first chunk without a receipt, behind all others.

    Those that are named are tried again all, or none when one of them cannot be. What is in doubt is resolved instead.

    Parameters
    ----------
    intents:
        Their ids.
    store:
        The store file of a gateway.
    state:
        Instead of ids: all in this state, e.g. `dead`, but for those that cannot be, and those that were abandoned in
        doubt. May be given several times.
    channel:
        With a state: only those to this platform.
    json:
        Print JSON.
    """
    from trunkline.app.cli.store.queue import retry_all, retry_named

    if bool(intents) == bool(state):
        raise UsageError("name the intents, or all of a state with --state")
    if channel and not state:
        raise UsageError("--channel goes with --state")
    if intents:
        return retry_named(store, intents, json=json)
    return retry_all(store, _filter(states=state, channel=channel), json=json)


@app.command
def resolve(
    intent: Id,
    /,
    *,
    store: Path,
    sent: Flag = False,
    unsent: Flag = False,
    abandon: Flag = False,
    message_id: str = "",
    json: Json = False,
) -> int:
    """Say what became of a chunk of which nobody knows whether its platform accepted it.

    Parameters
    ----------
    intent:
        Id of an intent whose state is `unknown`.
    store:
        The store file of a gateway.
    sent:
        The platform has it: that is its receipt, and what follows it is sent.
    unsent:
        The platform does not have it: it is sent, and what follows it.
    abandon:
        Let it be: neither it nor what follows it is sent.
    message_id:
        With `--sent`: the platform's id of it.
    json:
        Print JSON.
    """
    from trunkline.app.cli.store.queue import resolve_one

    verdict = _verdict(sent=sent, unsent=unsent, abandon=abandon)
    if message_id and not sent:
        raise UsageError("--message-id goes with --sent")
    return resolve_one(store, intent, verdict, message_id=message_id, json=json)


@app.command
def purge(
    *,
    store: Path,
    state: States = (),
    channel: Channel = "",
    older_than: Annotated[str, Parameter(group=_WHICH, show_default=False)] = "",
    yes: Flag = False,
    json: Json = False,
) -> int:
    """Remove intents that have ended. What is open stays, and what is in doubt unless its state is named.

    What was said stays in the transcripts. Keys of sends whose last try is removed are free again.

    Parameters
    ----------
    store:
        The store file of a gateway.
    state:
        Only those in this state, e.g. `delivered`. May be given several times.
    channel:
        Only those to this platform.
    older_than:
        Only those that were last written longer ago than this, e.g. `7d` or `12h`.
    yes:
        Do not ask.
    json:
        Print JSON.
    """
    from trunkline.app.cli.store.queue import purge_some

    if not (state or channel or older_than):
        raise UsageError("say which: --state, --channel or --older-than")
    return purge_some(store, _filter(states=state, channel=channel), older_than=older_than, yes=yes, json=json)


def _filter(**which: Any) -> QueueFilter:
    from trunkline.core.store.queue_admin import QueueFilter

    return QueueFilter(**which)


def _verdict(*, sent: bool, unsent: bool, abandon: bool) -> QueueVerdict:
    from trunkline.core.store.queue_admin import QueueVerdict

    given = [verdict for verdict, asked in zip(QueueVerdict, (sent, unsent, abandon), strict=True) if asked]
    if len(given) != 1:
        raise UsageError("say one of --sent, --unsent and --abandon")
    return given[0]
