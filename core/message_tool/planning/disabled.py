"""Actions that the configuration takes away from an agent's message tool."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.core.action_names import Action
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.identity_memo import while_it_lives
from trunkline.core.reasons import Reason


def check_enabled(action: Action, agent: str, config: GatewayConfig) -> None:
    """Raise `InvalidAction` for an action that `tools.message.disabled_actions` names for the agent."""
    if action in _disabled(config).get(agent, ()):
        sentence = f'Message action "{action}" is disabled for this agent.'
        remedy = "tools.message.disabled_actions names it."
        raise InvalidAction(sentence, Reason.ACTION_DISABLED, remedy=remedy)


@while_it_lives
def _disabled(config: GatewayConfig) -> Mapping[str, frozenset[Action]]:
    """By agent, where there are any."""
    found = {one.id: frozenset(config.message_tool(one.id).disabled_actions) for one in config.agents}
    return {agent: actions for agent, actions in found.items() if actions}
