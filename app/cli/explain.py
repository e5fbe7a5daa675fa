"""``trunkline explain``: asks the deciding code of the gateway a question, and prints the answer with its reasons.

Nothing runs and nothing is sent. What is needed is imported when a command is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Group, Parameter

from trunkline.core.profiles import Profile

if TYPE_CHECKING:
    from trunkline.core.config import GatewayConfig

app = App(name="explain", help="Tell why a message would go where it goes, without running anything.")

_CONFIG = Group("Configuration", sort_key=1)
_OUTPUT = Group("Output", sort_key=2)
Config = Annotated[Path | None, Parameter(group=_CONFIG)]
Rules = Annotated[Profile | None, Parameter(group=_CONFIG)]
Json = Annotated[bool, Parameter(group=_OUTPUT, negative=(), show_default=False)]
#: an id may begin with a dash
Id = Annotated[str, Parameter(allow_leading_hyphen=True)]
MaybeId = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


@app.command
def inbound(  # noqa: PLR0913 -- each of them is an option
    *,
    channel: str,
    kind: Literal["direct", "group", "channel"],
    peer: Id,
    thread: MaybeId = None,
    parent: MaybeId = None,
    account: str = "default",
    guild: MaybeId = None,
    team: MaybeId = None,
    role: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    sender: MaybeId = None,
    message: str = "message-id",
    config: Config = None,
    profile: Rules = None,
    near: Annotated[bool, Parameter(group=_OUTPUT, negative=(), show_default=False)] = False,
    json: Json = False,
) -> int:
    """Where would this inbound message belong? Agent, session, answers, and why each binding won or lost.

    Parameters
    ----------
    channel:
        The platform that it comes from, e.g. `discord`.
    kind:
        What the conversation is to its members.
    peer:
        The platform's id of the conversation; of a direct one, that of the person.
    thread:
        Id of the thread or topic in it.
    parent:
        Id of what the conversation hangs under, where it is a thread itself (Discord).
    account:
        The account that received it.
    guild:
        Id of the guild.
    team:
        Id of the team or workspace.
    role:
        A role that the sender holds. May be given several times.
    sender:
        Id of who wrote it; in a direct conversation it is the peer.
    message:
        Id of the message; a thread that is opened on it for the answers has the same.
    config:
        Configuration of the gateway as YAML or JSON; also a scenario, whose `gateway` section is taken.
    profile:
        Whose rules; instead of the configuration's.
    near:
        Of more than 100 bindings tell only those that have to do with the message, as a running gateway does.
    json:
        Print JSON.
    """
    from trunkline.app.explain.decide import InboundQuestion, decide_inbound
    from trunkline.app.report.explain import as_json, inbound_facts, inbound_json, lines
    from trunkline.core.values import ChatKind

    asked = InboundQuestion(
        channel=channel,
        kind=ChatKind(kind),
        peer=peer,
        account=account,
        thread=thread,
        parent=parent,
        guild=guild,
        team=team,
        roles=role,
        sender=sender,
        message=message,
    )
    answer = decide_inbound(asked, _config(config, profile), near=near)
    print(as_json(inbound_json(answer)) if json else lines(inbound_facts(answer)))
    return 0


@app.command
def send(
    target: Id,
    /,
    *,
    channel: str,
    account: str | None = None,
    thread: MaybeId = None,
    reply_to: MaybeId = None,
    kind: Literal["user", "group", "channel"] | None = None,
    agent: str | None = None,
    config: Config = None,
    profile: Rules = None,
    json: Json = False,
) -> int:
    """Where would a message to this target go? The place, the session that remembers it, and the steps to both.

    Parameters
    ----------
    target:
        A target, as agents and clients write it, e.g. `user:U1` or `channel:C1`.
    channel:
        The platform, e.g. `slack`.
    account:
        The account that sends; by default as configured.
    thread:
        Id of the thread or topic.
    reply_to:
        Id of the message that is answered.
    kind:
        What a directory says that the target is.
    agent:
        For whom it is sent; by default the default agent.
    config:
        Configuration of the gateway as YAML or JSON; also a scenario, whose `gateway` section is taken.
    profile:
        Whose rules; instead of the configuration's.
    json:
        Print JSON.
    """
    from trunkline.app.explain.decide import decide_send
    from trunkline.app.report.explain import as_json, lines, send_facts, send_json
    from trunkline.core.routing.outbound import OutboundQuestion
    from trunkline.core.values import ChatKind

    question = OutboundQuestion(
        agent=agent or "",
        channel=channel,
        target=target,
        account=account,
        kind=None if kind is None else ChatKind.DIRECT if kind == "user" else ChatKind(kind),
        thread=thread,
        reply_to=reply_to,
    )
    answer = decide_send(question, _config(config, profile))
    print(as_json(send_json(answer)) if json else lines(send_facts(answer)))
    return 0


@app.command
def key(text: str, /, *, json: Json = False) -> int:
    """What does this session key mean? Its parts, and how it is written.

    Parameters
    ----------
    text:
        A key in any form that is accepted: ours, or those of the upstream gateway.
    json:
        Print JSON.
    """
    from trunkline.app.explain.decide import read_any_key
    from trunkline.app.report.explain import as_json, key_facts, key_json, lines

    answer = read_any_key(text)
    print(as_json(key_json(answer)) if json else lines(key_facts(answer)))
    return 0


def _config(path: Path | None, profile: Profile | None) -> GatewayConfig:
    """The configuration that is asked about. Raises `ScenarioError` with what is wrong in the file."""
    from trunkline.core.config import GatewayConfig

    if path is None:
        return GatewayConfig() if profile is None else GatewayConfig(profile=profile)
    # Only a file needs the reader of scenarios, and that takes a moment to be imported.
    from trunkline.sim.scenario import load_config

    return load_config(path, profile=profile)
