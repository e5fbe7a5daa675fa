"""``trunkline hands``: the delegations of a gateway, for operators and for workers."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import App, Group, Parameter

from trunkline.app.cli.options import Flag
from trunkline.app.cli.store.files import NOWHERE, OUTPUT, Gateway, GatewayOptions, Id, Json, or_exit, print_answer
from trunkline.app.operators.pages import delegations
from trunkline.app.operators.port import NotPossible
from trunkline.app.report.hands import (
    list_json,
    posted_json,
    posted_text,
    shown_json,
    shown_text,
    table,
    taken_json,
    taken_text,
)
from trunkline.core.errors import UsageError
from trunkline.core.http.endpoint import Verb
from trunkline.core.http.routes import hands as verbs
from trunkline.core.http.routes.hands import AnswerBody, HandsQuery, ProgressBody, TakeBody
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store.operators.hands import HandPosted

app = App(
    name="hands",
    help="Inspect the tasks that agents gave to hands, decide what the gateway cannot decide, and work as a worker. "
    "Exit code: 0 done, 1 not possible and nothing was changed, 2 wrong usage or file.",
)

_WHICH = Group("Which", sort_key=1)
States = Annotated[tuple[WorkState, ...], Parameter(group=_WHICH, negative=(), show_default=False)]
Callbacks = Annotated[tuple[CallbackState, ...], Parameter(group=_WHICH, negative=(), show_default=False)]
Name = Annotated[str, Parameter(group=_WHICH, show_default=False)]
Ticket = Annotated[str, Parameter(allow_leading_hyphen=True, env_var="TRUNKLINE_TICKET")]
Worker = Annotated[str, Parameter(name="--as")]
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

    Parameters
    ----------
    state:
        Only those whose work is in this state, e.g. `running`. May be given several times.
    callback:
        Only those whose report is in this state, e.g. `undeliverable`. May be given several times.
    hand:
        Only those of this hand.
    agent:
        Only those of this agent.
    before:
        Only those older than this one, to go on with a list.
    limit:
        List at most this many.
    """
    if limit < 1:
        raise UsageError("--limit must be at least 1")
    query = HandsQuery(state=state, callback=callback, hand=hand, agent=agent, before=before)
    found = delegations(gateway.operator(), query, limit=limit)
    return print_answer("hands", list_json(found), table(found), json=json)


@app.command
def show(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """Show one delegation: its work, its report, its origin, its results and messages, and what can be done.

    Parameters
    ----------
    delegation:
        Its id, as `trunkline hands list` prints it.
    """
    operator = gateway.operator()
    found = operator.ask(verbs.show_delegation, delegation=delegation)
    return print_answer("hands", shown_json(found, operator.option), shown_text(found, operator.option), json=json)


def _post(
    verb: Verb[HandPosted],
    delegation: str,
    gateway: GatewayOptions,
    body: AnswerBody | ProgressBody | None = None,
    *,
    json: bool,
) -> int:
    operator = gateway.operator()
    done = operator.ask(verb, body, delegation=delegation)
    return print_answer("hands", posted_json(done), posted_text(done, at_once=operator.acts_at_once), json=json)


def _add_command(verb: Verb[HandPosted], name: str, summary: str) -> None:
    """Add a command for a verb that takes nothing but the id of a delegation."""

    def command(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
        return _post(verb, delegation, gateway, json=json)

    command.__doc__ = f"{summary}\n\nParameters\n----------\ndelegation:\n    Its id."
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


# ---------------------------------------------------------------- workers


@app.command
@or_exit
def take(hand: str, /, *, gateway: Gateway = NOWHERE, worker: Worker = "operator", json: Json = False) -> int:
    """Take the next task of a hand that is a worker, and print it with its ticket. The answer needs the ticket.

    Exit code 1: there is no task.

    Parameters
    ----------
    hand:
        Its name, as the configuration has it.
    worker:
        Your name, as operators see it.
    """
    task = gateway.operator().ask(verbs.take, TakeBody(hand=hand, worker=worker)).task
    if task is None and not json:
        raise NotPossible(f"no task waits for {hand}")
    print_answer("hands", taken_json(task), () if task is None else taken_text(task), json=json)
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

    Parameters
    ----------
    delegation:
        Its id, as `take` printed it.
    text:
        The result; `-` reads it from standard input.
    ticket:
        The ticket, as `take` printed it; `-` reads it from the first line of standard input. Arguments are visible
        to other users of the machine; the environment and standard input are not.
    failed:
        There is no result; the text says why.
    worker:
        Your name, as operators see it.
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

    Parameters
    ----------
    delegation:
        Its id, as `take` printed it.
    text:
        What to show.
    ticket:
        The ticket, as `take` printed it; `-` reads it from the first line of standard input. Arguments are visible
        to other users of the machine; the environment and standard input are not.
    worker:
        Your name, as operators see it.
    """
    body = ProgressBody(text=text, ticket=_secret(ticket), worker=worker)
    return _post(verbs.progress, delegation, gateway, body, json=json)
