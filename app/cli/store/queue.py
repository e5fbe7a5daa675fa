"""``trunkline queue``: inspects the outbound queue of a gateway, and records an operator's decisions."""

import sys
from typing import Annotated

from cyclopts import Group, Parameter
from msgspec.structs import replace

from trunkline.app.cli.options import Flag, check_at_least
from trunkline.app.cli.store.files import NOWHERE, OUTPUT, Gateway, Id, Json, operators_app, or_exit, print_answer
from trunkline.app.operators.port import NotPossible, Operator
from trunkline.app.operators.port import intents as intents_of
from trunkline.app.report import queue as report
from trunkline.app.report.layout import fields_json
from trunkline.app.terminal.output import print_lines
from trunkline.app.text.cells import count
from trunkline.core.errors import UsageError
from trunkline.core.http.routes import queue as verbs
from trunkline.core.http.routes.queue import PurgeBody, QueueQuery, ResolveBody, RetryBody
from trunkline.core.store.operators.queue import NOTICEABLE, QueueChanges
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.values import IntentState

app = operators_app("queue", "Inspect the outbound queue, and decide what the gateway cannot decide.")

_WHICH = Group("Which", sort_key=1)
States = Annotated[tuple[IntentState, ...], Parameter(group=_WHICH, negative=(), show_default=False)]
Channel = Annotated[str, Parameter(group=_WHICH, show_default=False)]


@app.command(name="list")
def list_(
    *,
    gateway: Gateway = NOWHERE,
    state: States = (),
    channel: Channel = "",
    all: Annotated[Flag, Parameter(group=_WHICH)] = False,  # noqa: A002
    limit: Annotated[int, Parameter(group=OUTPUT)] = 100,
    json: Json = False,
) -> int:
    """List intents, oldest first: by default those that need attention, and those still to be sent.

    The first line counts all intents by state.

    :param state: Only those in this state, e.g. `dead`. May be given several times.
    :param channel: Only those to this platform, e.g. `discord`.
    :param all: Also those that are delivered or cancelled.
    :param limit: List at most this many.
    """
    check_at_least(1, limit=limit)
    if all and state:
        raise UsageError("--all goes without --state")
    query = QueueQuery(state=state if all or state else NOTICEABLE, channel=channel)
    found = intents_of(gateway.operator(), query, limit=limit)
    nothing = "none is in this state and for this platform"
    if not (all or state or channel):
        nothing = "none needs attention, and none is to be sent; --all lists them"
    return print_answer("queue", report.list_json(found), report.table(found, nothing), json=json)


@app.command
def show(intent: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """Show one intent: its chunks, receipts and attempts, and what can be done to it now.

    :param intent: Its id, as `trunkline queue list` prints it.
    """
    operator = gateway.operator()
    found = operator.ask(verbs.show_intent, intent=intent)
    document, text = report.shown_json(found, operator.option), report.shown_text(found, operator.option)
    return print_answer("queue", document, text, json=json)


@app.command
@or_exit
def retry(
    *intents: str, gateway: Gateway = NOWHERE, state: States = (), channel: Channel = "", json: Json = False
) -> int:
    """Retry intents that have ended, from their first chunk without a receipt, behind all others.

    Named intents are retried all, or none if one of them cannot be. Intents in doubt are resolved instead.

    :param intents: Their ids.
    :param state: Instead of ids: all in this state, e.g. `dead`, except those that cannot be retried. May be given
        several times.
    :param channel: With a state: only those to this platform.
    """
    if bool(intents) == bool(state):
        raise UsageError("name the intents, or all of a state with --state")
    if channel and not state:
        raise UsageError("--channel goes with --state")
    operator = gateway.operator()
    done = operator.ask(verbs.retry, RetryBody(intents=intents, state=state, channel=channel))
    return _print_changes("retry", done, operator, json=json)


@app.command
@or_exit
def resolve(
    intent: Id,
    /,
    *,
    gateway: Gateway = NOWHERE,
    sent: Flag = False,
    unsent: Flag = False,
    abandon: Flag = False,
    message_id: str = "",
    json: Json = False,
) -> int:
    """Decide about a chunk in doubt: one that its platform may or may not have accepted.

    :param intent: Id of an intent whose state is `unknown`.
    :param sent: The platform has it: record a receipt, and send the chunks after it.
    :param unsent: The platform does not have it: send it, and the chunks after it.
    :param abandon: Send neither it nor the chunks after it. It stays `unknown`, and is removed like what has ended.
    :param message_id: With `--sent`: the platform's id of the message.
    """
    given = [verdict for verdict, chosen in zip(QueueVerdict, (sent, unsent, abandon), strict=True) if chosen]
    if len(given) != 1:
        raise UsageError("say one of --sent, --unsent and --abandon")
    if message_id and not sent:
        raise UsageError("--message-id goes with --sent")
    operator = gateway.operator()
    done = operator.ask(verbs.resolve, ResolveBody(verdict=given[0], message_id=message_id), intent=intent)
    return _print_changes(given[0].value, done, operator, json=json)


@app.command
@or_exit
def purge(
    *,
    gateway: Gateway = NOWHERE,
    state: States = (),
    channel: Channel = "",
    older_than: Annotated[str, Parameter(group=_WHICH, show_default=False)] = "",
    yes: Flag = False,
    json: Json = False,
) -> int:
    """Remove intents that have ended. Open intents stay, and intents in doubt unless their state is named.

    The transcripts keep their lines. Keys of sends whose last try is removed can be used again.

    :param state: Only those in this state, e.g. `delivered`. May be given several times.
    :param channel: Only those to this platform.
    :param older_than: Only those last written longer ago than this, e.g. `7d` or `12h`.
    :param yes: Do not ask.
    """
    if not (state or channel or older_than):
        raise UsageError("say which: --state, --channel or --older-than")
    which = PurgeBody(state=state, channel=channel, older_than=_age(older_than) if older_than else None)
    operator = gateway.operator()
    done = operator.ask(verbs.purge, replace(which, dry_run=True))
    if done.asked and not (yes or _confirmed(report.conservation(done.asked))):
        raise NotPossible("not agreed to")
    if done.asked:
        done = replace(done, removed=operator.ask(verbs.purge, which).removed)
    document = {"verb": "purge", **fields_json(done)}
    return print_answer("queue", document, [f"{count(done.removed, 'intent')} removed"], json=json)


def _age(text: str) -> float:
    from trunkline.core.config import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--older-than: {error}") from error


def _confirmed(what: str) -> bool:
    """Ask at the terminal. Raises `UsageError` without one."""
    if not sys.stdin.isatty():
        raise UsageError(f"there is nobody to be asked whether to remove {what}: add --yes")
    question = f"Remove {what}? What was said stays in the transcripts. [y/N] "
    print_lines(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_changes(verb: str, done: QueueChanges, operator: Operator, *, json: bool) -> int:
    return print_answer(
        "queue", report.changed_json(verb, done), report.changed_text(done, at_once=operator.acts_at_once), json=json
    )
