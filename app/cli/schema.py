"""``trunkline schema``: JSON Schemas of scenario files, configurations, profiles, tools of agents, their protocol."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from trunkline.app.cli.options import DEFAULT_PLUGINS, Flag, PluginOptions
from trunkline.app.terminal.output import print_json
from trunkline.core.channels import known_channels
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import UsageError
from trunkline.core.hands.tool import hand_tools
from trunkline.core.message_tool.schema import SchemaForm, Surroundings, tool_schema

_TOOL = Parameter(group=Group("Tools of agents"))


class _Tool(StrEnum):
    MESSAGE = "message"
    HANDS = "hands"


@dataclass(frozen=True, kw_only=True)
class _Whole:
    """The schemas that are printed as a whole, instead of that of scenario files."""

    protocol: Flag = False
    """Print what programs and webhooks that are agents exchange with the gateway."""
    profile: Flag = False
    """Print the schema of gateway profiles, the files of `trunkline attach --gateway`."""
    gateway: Flag = False
    """Print the schema of configurations, the files of `trunkline serve --config`."""


def print_schema(
    which: Annotated[_Tool, _TOOL] = _Tool.MESSAGE,
    /,
    *,
    tool: Annotated[Flag, _TOOL] = False,
    config: Annotated[Path | None, _TOOL] = None,
    channel: Annotated[str | None, _TOOL] = None,
    account: Annotated[str | None, _TOOL] = None,
    agent: Annotated[str | None, _TOOL] = None,
    form: Annotated[SchemaForm | None, _TOOL] = None,
    whole: Annotated[_Whole, Parameter(name="*")] = _Whole(),
    plugins: PluginOptions = DEFAULT_PLUGINS,
) -> int:
    """Print a JSON Schema: of scenario files, configurations, gateway profiles, tools of agents, or their protocol.

    The first three are for editors, the tools for the models that use them, and the protocol for those who write a
    program or a webhook that is an agent.

    :param which: Which tools: `message`, or `hands` for the four with which an agent delegates.
    :param tool: Print the tools. A running gateway also leaves out what its adapters cannot do, and names the hands
        that it has.
    :param config: Gateway configuration as YAML or JSON, or a scenario, whose `gateway` section is used. Its channels
        are those with settings and those that route rules name.
    :param channel: The channel that the agent works in.
    :param account: The account that the agent works with.
    :param agent: The agent that uses the tool; by default the default agent.
    :param form: The form in which a model's interface takes tools; `plain` is the schema of the parameters alone. By
        default `openai`.
    """
    tool_options = any(option is not None for option in (config, channel, account, agent, form))
    others = tool or which is not _Tool.MESSAGE or tool_options
    alone = [name for name, given in asdict(whole).items() if given]
    if alone and (others or len(alone) > 1):
        raise UsageError(f"--{alone[0]} takes no other option")
    if whole.profile or whole.gateway:
        print(profile_schema_text() if whole.profile else gateway_schema_text(), end="")
        return 0
    if whole.protocol:
        from trunkline.core.agents.protocol_schema import protocol_schema

        _print(protocol_schema())
        return 0
    if not tool:
        if which is not _Tool.MESSAGE or tool_options:
            raise UsageError("these options describe the tools of agents: add --tool")
        from trunkline.sim.scenario import schema_text

        print(schema_text(plugins.toolbox) if plugins.there else schema_text(), end="")
        return 0
    loaded = _load(config)
    if which is _Tool.HANDS:
        if channel is not None or account is not None:
            raise UsageError("--channel and --account say nothing of hands: leave them out")
        _print(hand_tools(form or SchemaForm.OPENAI, hands=_hands(loaded, loaded.known_agent(agent))))
        return 0
    current = None if channel is None else channel.strip().lower()
    channels = configured_channels(loaded)
    if current is not None:
        check_place(loaded, current, account)
    elif account is not None:
        raise UsageError("--account needs the channel that it is on: add --channel")
    elif not channels:
        raise UsageError("no channel is configured: name one with --channel, or give --config a file that has channels")
    who = loaded.known_agent(agent)
    names = channels if current is None else (*channels, current)
    around = Surroundings(channels=dict.fromkeys(names), agent=who, current=current)
    _print(tool_schema(loaded, around).form(form or SchemaForm.OPENAI))
    return 0


def _print(document: object) -> None:
    print_json(json.dumps(document, indent=2, ensure_ascii=True))


def _hands(config: GatewayConfig, agent: str) -> tuple[str, ...]:
    """The hands that the configuration names for an agent; a running gateway knows those of its runner, too."""
    agents = {agent.id for agent in config.agents if config.hands.agents}
    return config.hands.usable_by(agent, agents | set(config.hands.each))


def configured_channels(config: GatewayConfig) -> tuple[str, ...]:
    """The channels that a configuration has settings or route rules for, sorted by name."""
    named = {*config.channels, *(rule.match.channel.lower() for rule in config.bindings)}
    return tuple(sorted(named - {"*", "webchat"}))


def check_place(config: GatewayConfig, channel: str, account: str | None) -> None:
    """Raise `UsageError` for a channel that nobody knows, or an account that the channel has not."""
    there = sorted({*configured_channels(config), *known_channels()})
    if channel not in there:
        raise UsageError(f"unknown channel {channel!r}; there are: {', '.join(there)}")
    accounts = {name.lower() for name in config.channel(channel).accounts}
    if account is not None and accounts and account.lower() not in accounts:
        raise UsageError(f"no account {account!r} on {channel}; there are: {', '.join(sorted(accounts))}")


def _load(path: Path | None) -> GatewayConfig:
    if path is None:
        return GatewayConfig()
    # Only a file needs the scenario reader, which is slow to import.
    from trunkline.core.config.files import load_config

    return load_config(path)


def profile_schema_text() -> str:
    """JSON Schema (draft 2020-12) of a gateway profile; deterministic."""
    # Imported late, as below: the tools of agents are printed without the simulator.
    from trunkline.sim.attach.profile import NAME, VERSION, GatewayProfile
    from trunkline.sim.attach.rendering import OF_PLATFORM
    from trunkline.sim.scenario.schema import model_schema, schema_document

    schema = model_schema(GatewayProfile)
    schema["properties"]["name"] |= {"pattern": f"^{NAME.pattern}$"}
    schema["properties"]["platforms"] |= {"propertyNames": {"enum": list(OF_PLATFORM)}}
    for field in ("at_least", "below"):
        schema["$defs"]["Need"]["properties"][field] |= {"pattern": f"^{VERSION.pattern}$"}
    return schema_document("Trunkline gateway profile, version 1", schema)


def gateway_schema_text() -> str:
    """JSON Schema (draft 2020-12) of the file of ``trunkline serve --config``; deterministic."""
    from trunkline.app.serve.config import ServeConfig
    from trunkline.sim.scenario.schema import model_schema, schema_document

    return schema_document("Trunkline gateway configuration", model_schema(ServeConfig))
