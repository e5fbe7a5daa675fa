"""``trunkline hands``: the delegations of a gateway, for operators and for workers."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import App, Group, Parameter

from trunkline.app.cli.options import Flag
from trunkline.app.cli.store.files import (
    NOWHERE,
    OUTPUT,
    Gateway,
    GatewayOptions,
    Id,
    Json,
    or_exit,
)
from trunkline.app.operators.port import NotPossible
from trunkline.app.report.hands import (
    as_json,
    list_json,
    posted_json,
    posted_text,
    shown_json,
    shown_text,
    table,
    taken_json,
    taken_text,
)
from trunkline.app.terminal.output import print_json, print_lines
from trunkline.core.errors import UsageError
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store.delegations import DelegationFilter, HandPost, PostVerb
from trunkline.core.values import DelegationId

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
    which = DelegationFilter(states=state, callbacks=callback, hand=hand, agent=agent)
    found = gateway.operator().hands(which, before=DelegationId(before) if before else None, limit=limit)
    if json:
        print_json(as_json(list_json(found)))
        return 0
    print_lines(*table(found))
    return 0


@app.command
def show(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """Show one delegation: its work, its report, its origin, its results and messages, and what can be done.

    Parameters
    ----------
    delegation:
        Its id, as `trunkline hands list` prints it.
    """
    operator = gateway.operator()
    found = operator.delegation(delegation)
    if json:
        print_json(as_json(shown_json(found, operator.option)))
    else:
        print_lines(*shown_text(found, operator.option).split("\n"))
    return 0


@app.command
@or_exit
def cancel(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """End the work of a delegation. Its hand is stopped, and what it returns later is kept but not reported.

    Parameters
    ----------
    delegation:
        Its id.
    """
    return _leave(PostVerb.CANCEL, delegation, gateway, json=json)


@app.command(name="retry-callback")
@or_exit
def retry_callback(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """Report a result again that could not be delivered: its messages are sent again, or its turn runs again.

    Parameters
    ----------
    delegation:
        Its id.
    """
    return _leave(PostVerb.RETRY_CALLBACK, delegation, gateway, json=json)


@app.command
@or_exit
def discard(delegation: Id, /, *, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """Give the report of a delegation up: its turn does not run, and nothing more of it is sent.

    Parameters
    ----------
    delegation:
        Its id.
    """
    return _leave(PostVerb.DISCARD, delegation, gateway, json=json)


def _leave(verb: PostVerb, delegation: str, gateway: GatewayOptions, *, json: bool) -> int:
    post = HandPost(delegation=DelegationId(delegation), verb=verb, by="operator")
    return _post(post, gateway, json=json)


def _post(post: HandPost, gateway: GatewayOptions, *, json: bool) -> int:
    operator = gateway.operator()
    done = operator.post(post)
    if json:
        print_json(as_json(posted_json(done)))
    else:
        print_lines(*posted_text(done, at_once=operator.acts_at_once))
    return 0


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
    task = gateway.operator().take(hand, worker)
    if json:
        print_json(as_json(taken_json(task)))
        return 0 if task is not None else 1
    if task is None:
        raise NotPossible(f"no task waits for {hand}")
    print_lines(*taken_text(task))
    return 0


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
    post = HandPost(
        delegation=DelegationId(delegation),
        verb=PostVerb.ANSWER,
        outcome=outcome,
        text=said,
        by=worker,
        ticket=secret,
    )
    return _post(post, gateway, json=json)


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
    post = HandPost(
        delegation=DelegationId(delegation),
        verb=PostVerb.PROGRESS,
        text=text,
        by=worker,
        ticket=_secret(ticket),
    )
    return _post(post, gateway, json=json)
