"""``trunkline explain``: asks the gateway's decision functions a question, and prints the answer with its reasons.

Nothing runs and nothing is sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter

from trunkline.app.cli.options import Flag
from trunkline.app.report import explain
from trunkline.app.report.layout import as_json, lines
from trunkline.app.terminal.output import print_json, print_lines
from trunkline.app.text.fact import Fact
from trunkline.core.config import GatewayConfig
from trunkline.core.env import system_env
from trunkline.core.explain.decide import InboundQuestion, decide_inbound, decide_send, read_any_key
from trunkline.core.explain.heartbeat import decide_heartbeat, time_of
from trunkline.core.explain.policy import PolicyQuestion, decide_policy
from trunkline.core.explain.prompts import PromptsQuestion, decide_prompts
from trunkline.core.profile_rules import Profile
from trunkline.core.routing.outbound import OutboundQuestion
from trunkline.core.values import ChatKind

# An id may begin with a dash.
app = App(
    name="explain",
    help="Explain where a message would go, without running anything.",
    default_parameter=Parameter(allow_leading_hyphen=True, negative=()),
)

_OUTPUT = Parameter(group=Group("Output", sort_key=2))
Json = Annotated[Flag, _OUTPUT, Parameter(help="Print JSON.")]


@dataclass(frozen=True, kw_only=True)
class ConfigOptions:
    """The configuration to explain."""

    config: Path | None = None
    """Gateway configuration as YAML or JSON, or a scenario, whose `gateway` section is used."""
    profile: Profile | None = None
    """Routing rules to follow, instead of those that the configuration names."""

    def load(self) -> GatewayConfig:
        """Load the configuration. Raises `FileError` with what is wrong in the file."""
        if self.config is None:
            return GatewayConfig() if self.profile is None else GatewayConfig(profile=self.profile)
        # Only a file needs the scenario reader, which is slow to import.
        from trunkline.core.config.files import load_config

        return load_config(self.config, profile=self.profile)


Configuration = Annotated[ConfigOptions, Parameter(name="*", group=Group("Configuration", sort_key=1))]
_DEFAULTS = ConfigOptions()
_ANY_TURN = PromptsQuestion()


def _print(facts: Iterable[Fact], document: dict[str, Any], *, json: bool) -> int:
    if json:
        print_json(as_json("explain", document))
    else:
        print_lines(*lines(facts))
    return 0


@app.command
def inbound(
    *,
    question: Annotated[InboundQuestion, Parameter(name="*")],
    config: Configuration = _DEFAULTS,
    near: Annotated[Flag, _OUTPUT] = False,
    json: Json = False,
) -> int:
    """Explain where an inbound message belongs: agent, session, reply address, and why each route rule won or lost.

    :param near: With more than 100 route rules, show only those related to the message, as a running gateway records
        them.
    """
    answer = decide_inbound(question, config.load(), near=near)
    return _print(explain.inbound_facts(answer), explain.inbound_json(answer), json=json)


@app.command
def send(
    target: str,
    /,
    *,
    channel: str,
    account: str | None = None,
    thread: str | None = None,
    reply_to: str | None = None,
    kind: Literal["user", "group", "channel"] | None = None,
    agent: str | None = None,
    config: Configuration = _DEFAULTS,
    json: Json = False,
) -> int:
    """Explain where a message to a target would go: the place, the session that remembers it, and the steps to both.

    :param target: A target, as agents and clients write it, e.g. `user:U1` or `channel:C1`.
    :param channel: The platform, e.g. `slack`.
    :param account: The account that sends; by default the configured one.
    :param thread: Id of the thread or topic.
    :param reply_to: Id of the message that this one replies to.
    :param kind: What a directory lookup says the target is.
    :param agent: The agent that sends; by default the default agent.
    """
    question = OutboundQuestion(
        agent=agent or "",
        channel=channel,
        target=target,
        account=account,
        kind=None if kind is None else ChatKind.DIRECT if kind == "user" else ChatKind(kind),
        thread=thread,
        reply_to=reply_to,
    )
    answer = decide_send(question, config.load())
    return _print(explain.send_facts(answer), explain.send_json(answer), json=json)


@app.command
def policy(
    *, question: Annotated[PolicyQuestion, Parameter(name="*")], config: Configuration = _DEFAULTS, json: Json = False
) -> int:
    """Explain whether a turn may write to another place: the decision, its mark, and the setting that decides."""
    answer = decide_policy(question, config.load())
    return _print(explain.policy_answer_facts(answer), explain.policy_json(answer), json=json)


@app.command
def prompts(
    *,
    question: Annotated[PromptsQuestion, Parameter(name="*")] = _ANY_TURN,
    config: Configuration = _DEFAULTS,
    json: Json = False,
) -> int:
    """Explain which system prompts a turn would have: the agent's, the channel's and that of a callback, in order."""
    answer = decide_prompts(question, config.load())
    return _print(explain.prompts_facts(answer), explain.prompts_json(answer), json=json)


@app.command
def key(text: Annotated[str, Parameter(allow_leading_hyphen=False)], /, *, json: Json = False) -> int:
    """Explain a session key: its parts, and its other spellings.

    :param text: A key in any accepted form: Trunkline's own, or one of the upstream gateway.
    """
    answer = read_any_key(text)
    return _print(explain.key_facts(answer), explain.key_json(answer), json=json)


@app.command
def heartbeat(
    *,
    agent: str | None = None,
    at: str | None = None,
    last: str | None = None,
    config: Configuration = _DEFAULTS,
    json: Json = False,
) -> int:
    """Explain an agent's heartbeat: whether it would run, its next times, its target, and the agent's schedule.

    :param agent: The agent; by default the default agent.
    :param at: A time such as `2026-11-23T09:00`, in the machine's time zone or with an offset; by default now.
    :param last: Where its session was last used, as `<channel>:<target>`; by default nowhere.
    """
    env = system_env()
    time = env.now() if at is None else time_of(at, env.timezone)
    answer = decide_heartbeat(config.load(), agent=agent, at=time, local=env.timezone, last=last)
    return _print(explain.heartbeat_facts(answer), explain.heartbeat_json(answer), json=json)
