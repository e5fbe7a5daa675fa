"""``trunkline hands``: the delegations of a gateway, for operators and for workers."""

import sys
from typing import Annotated

from cyclopts import Group, Parameter

from trunkline.app.cli.options import Flag, check_at_least
from trunkline.app.cli.store.files import NOWHERE, OUTPUT, Gateway, Id, Json, operators_app, or_exit, print_answer
from trunkline.app.operators.port import NotPossible, delegations
from trunkline.app.report import hands as report
from trunkline.app.report.layout import fields_json
from trunkline.core.http.endpoint import Verb
from trunkline.core.http.routes import hands as verbs
from trunkline.core.http.routes.hands import AnswerBody, HandsQuery, ProgressBody, TakeBody
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store.operators.hands import HandPosted

app = operators_app(
    "hands", "Inspect the tasks that agents gave to hands, decide what the gateway cannot decide, and work as a worker."
)

_WHICH = Group("Which", sort_key=1)
States = Annotated[tuple[WorkState, ...], Parameter(group=_WHICH, negative=(), show_default=False)]
Callbacks = Annotated[tuple[CallbackState, ...], Parameter(group=_WHICH, negative=(), show_default=False)]
Name = Annotated[str, Parameter(group=_WHICH, show_default=False)]
_SECRET = (
    "The ticket, as `take` printed it; `-` reads it from the first line of standard input. Arguments are visible to "
    "other users of the machine; the environment and standard input are not."
)
Ticket = Annotated[str, Parameter(allow_leading_hyphen=True, env_var="TRUNKLINE_TICKET", help=_SECRET)]
Worker = Annotated[str, Parameter(name="--as", help="Your name, as operators see it.")]
Text = Annotated[str, Parameter(allow_leading_hyphen=True)]


@app.command(name="list")
def list_(
    *,
    gateway: Gateway = NOWHERE,
    state: States = (),
    callback: Callbacks = (),
    hand: Name = "",
    agent: Name = "",
    before: Annotated[str, Parameter(group=OUTPUT, allow_leading_hyphen=True, show_default=False)] = "",
    limit: Annotated[int, Parameter(group=OUTPUT)] = 100,
    json: Json = False,
) -> int:
    """List delegations, newest first. The first lines count all of them, by the state of the work and of the report.

    :param state: Only those whose work is in this state, e.g. `running`. May be given several times.
    :param callback: Only those whose report is in this state, e.g. `undeliverable`. May be given several times.
    :param hand: Only those of this hand.
    :param agent: Only those of this agent.
    :param before: Only those older than this one, to go on with a list.
    :param limit: List at most this many.
    """
    check_at_least(1, limit=limit)
    query = HandsQuery(state=state, callback=callback, hand=hand, agent=agent, before=before)
    found = delegations(gateway.operator(), query, limit=limit)
    return print_answer("hands", report.list_json(found), report.table(found), json=json)


@app.command
def show(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """Show one delegation: its work, its report, its origin, its results and messages, and what can be done.

    :param delegation: Its id, as `trunkline hands list` prints it.
    """
    operator = gateway.operator()
    found = operator.ask(verbs.show_delegation, delegation=delegation)
    document, text = report.shown_json(found, operator.option), report.shown_text(found, operator.option)
    return print_answer("hands", document, text, json=json)


def _post(
    verb: Verb[HandPosted],
    delegation: str,
    gateway: Gateway,
    body: AnswerBody | ProgressBody | None = None,
    *,
    json: bool,
) -> int:
    operator = gateway.operator()
    done = operator.ask(verb, body, delegation=delegation)
    text = report.posted_text(done, at_once=operator.acts_at_once)
    return print_answer("hands", report.posted_json(done), text, json=json)


def _add_command(verb: Verb[HandPosted], name: str, summary: str) -> None:
    """Add a command for a verb that takes nothing but the id of a delegation."""

    def command(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
        return _post(verb, delegation, gateway, json=json)

    command.__doc__ = f"{summary}\n\n:param delegation: Its id."
    app.command(or_exit(command), name=name)


for _verb, _name, _summary in (
    (
        verbs.cancel,
        "cancel",
        "End the work of a delegation. Its hand is stopped, and what it returns later is kept but not reported.",
    ),
    (
        verbs.retry_callback,
        "retry-callback",
        "Report a result again that could not be delivered: its messages are sent again, or its turn runs again.",
    ),
    (
        verbs.discard,
        "discard",
        "Give the report of a delegation up: its turn does not run, and nothing more of it is sent.",
    ),
):
    _add_command(_verb, _name, _summary)


@app.command
@or_exit
def take(hand: str, /, *, gateway: Gateway = NOWHERE, worker: Worker = "operator", json: Json = False) -> int:
    """Take the next task of a hand that is a worker, and print it with its ticket. The answer needs the ticket.

    Exit code 1: there is no task.

    :param hand: Its name, as the configuration has it.
    """
    task = gateway.operator().ask(verbs.take, TakeBody(hand=hand, worker=worker)).task
    if task is None and not json:
        raise NotPossible(f"no task waits for {hand}")
    document = {"task": None if task is None else fields_json(task)}
    print_answer("hands", document, () if task is None else report.taken_text(task), json=json)
    return 0 if task is not None else 1


@app.command
@or_exit
def answer(
    delegation: Id,
    text: Text = "",
    /,
    *,
    gateway: Gateway = NOWHERE,
    ticket: Ticket,
    failed: Flag = False,
    worker: Worker = "operator",
    json: Json = False,
) -> int:
    """Answer a task that was taken. A second answer is kept, and not reported.

    :param delegation: Its id, as `take` printed it.
    :param text: The result; `-` reads it from standard input.
    :param failed: There is no result; the text says why.
    """
    secret = _secret(ticket)
    said = sys.stdin.read() if text == "-" else text
    outcome = HandOutcome.ERROR if failed else HandOutcome.OK
    body = AnswerBody(outcome=outcome, text=said, ticket=secret, worker=worker)
    return _post(verbs.answer, delegation, gateway, body, json=json)


def _secret(ticket: str) -> str:
    """The ticket, which may be the first line of standard input."""
    return sys.stdin.readline().strip() if ticket == "-" else ticket


@app.command
@or_exit
def progress(
    delegation: Id,
    text: Text,
    /,
    *,
    gateway: Gateway = NOWHERE,
    ticket: Ticket,
    worker: Worker = "operator",
    json: Json = False,
) -> int:
    """Say how far a task that was taken has come.

    :param delegation: Its id, as `take` printed it.
    :param text: What to show.
    """
    body = ProgressBody(text=text, ticket=_secret(ticket), worker=worker)
    return _post(verbs.progress, delegation, gateway, body, json=json)
