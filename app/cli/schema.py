"""``trunkline schema``: the JSON Schema of scenario files, or of the message tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from trunkline.app.cli.io.output import print_json
from trunkline.app.cli.options import Flag
from trunkline.core.actions.schema import SchemaForm, Surroundings, tool_schema
from trunkline.core.channels import known_channels
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import UsageError

_TOOL = Parameter(group=Group("Message tool"))


def print_schema(
    *,
    tool: Annotated[Flag, _TOOL] = False,
    config: Annotated[Path | None, _TOOL] = None,
    channel: Annotated[str | None, _TOOL] = None,
    account: Annotated[str | None, _TOOL] = None,
    agent: Annotated[str | None, _TOOL] = None,
    form: Annotated[SchemaForm | None, _TOOL] = None,
) -> int:
    """Print the JSON Schema of scenario files, or of the message tool.

    The first is for editors, the second for the models that use the tool.

    Parameters
    ----------
    tool:
        Print the message tool. A running gateway also leaves out what its adapters cannot do.
    config:
        Gateway configuration as YAML or JSON, or a scenario, whose `gateway` section is used. Its channels are those
        with settings and those that route rules name.
    channel:
        The channel that the agent works in.
    account:
        The account that the agent works with.
    agent:
        The agent that uses the tool; by default the default agent.
    form:
        The form in which a model's interface takes tools; `plain` is the schema of the parameters alone. By default
        `openai`.
    """
    if not tool:
        if any(option is not None for option in (config, channel, account, agent, form)):
            raise UsageError("these options describe the message tool: add --tool")
        from trunkline.sim.scenario import schema_text

        print(schema_text(), end="")
        return 0
    loaded = _load(config)
    current = None if channel is None else channel.strip().lower()
    channels = configured_channels(loaded)
    if current is not None:
        check_place(loaded, current, account)
    elif account is not None:
        raise UsageError("--account needs the channel that it is on: add --channel")
    elif not channels:
        raise UsageError("no channel is configured: name one with --channel, or give --config a file that has channels")
    who = agent or loaded.default_agent
    if who not in (known := [one.id for one in loaded.agents]):
        raise UsageError(f"no agent {who!r}; there are: {', '.join(known)}")
    names = channels if current is None else (*channels, current)
    around = Surroundings(channels=dict.fromkeys(names), agent=who, current=current)
    document = tool_schema(loaded, around).form(form or SchemaForm.OPENAI)
    print_json(json.dumps(document, indent=2, ensure_ascii=True))
    return 0


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
    from trunkline.sim.scenario import load_config

    return load_config(path)
