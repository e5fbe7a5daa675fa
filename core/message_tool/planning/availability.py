"""Which actions a channel has: those that its table, its gates and its adapter have; and which an agent is denied."""

from collections.abc import Iterable, Mapping

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels import ChannelRulebook, ChannelRules, rules_for
from trunkline.core.channels.channel_actions import ChannelAction
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.identity_memo import while_it_lives
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Capabilities, Capability, ChatKind

UNSUPPORTED_POLL = "Unsupported poll channel: {channel}"
#: capability of a message -> the feature that it is
_FEATURES = {
    Capability.BUTTONS: Feature.BUTTONS,
    Capability.CARDS: Feature.CARDS,
    Capability.COMPONENTS: Feature.COMPONENTS,
    Capability.SILENT: Feature.SILENT,
}
#: capability that an action needs of an adapter, where it is no action of `Capabilities.actions`
_NEEDS = {
    Action.POLL: Capability.POLL,
    Action.THREAD_REPLY: Capability.THREADS,
    Action.SEND_ATTACHMENT: Capability.MEDIA,
    Action.UPLOAD_FILE: Capability.MEDIA,
}
_PLAIN = (Action.SEND, Action.REPLY)


def is_open(entry: ChannelAction, channel: str, config: GatewayConfig) -> bool:
    return entry.gate is None or config.channel(channel).actions.get(entry.gate, entry.on)


def may_moderate(place: Address, action: Action, config: GatewayConfig) -> bool:
    """Whether an action may concern what others wrote in a place: in rooms, with a switch that is off by default.

    Whether the account has the right there, its platform knows.
    """
    entry = rules_for(place.channel).action(action)
    if entry is None or entry.of_others is None or place.kind is ChatKind.DIRECT:
        return False
    return config.channel(place.channel).actions.get(entry.of_others, False)


def is_able(action: Action, capabilities: Capabilities) -> bool:
    if (needed := _NEEDS.get(action)) is not None:
        return needed in capabilities.can
    return action in _PLAIN or action in capabilities.actions


def refuse_unless_able(action: Action, channel: str, capabilities: Capabilities) -> None:
    """Raise `InvalidAction` if an adapter cannot do an action."""
    if not is_able(action, capabilities):
        sentence = UNSUPPORTED_POLL if action is Action.POLL else ChannelRules.unsupported
        said = sentence.format(action=action, channel=channel)
        raise InvalidAction(said, Reason.UNSUPPORTED, remedy="The adapter cannot do it.")


def actions_of(
    channel: str, config: GatewayConfig, adapters: Iterable[Capabilities] | None, *, in_group: bool = True
) -> frozenset[Action]:
    """The actions of a channel that are on and that one of its adapters can do.

    `adapters` None: as the platform itself can; of a platform without a table nothing but sends is known.
    """
    rules = config.rules[ChannelRulebook].of(channel)
    known = None if adapters is None else tuple(adapters)
    found = {
        action
        for action in rules.actions
        if (entry := rules.action(action)) is not None
        and is_open(entry, channel, config)
        and (in_group or not entry.group_only)
        and _can(action, known, has_table=not rules.without_table)
    }
    return frozenset(found | {Action.SEND})


def _can(action: Action, adapters: tuple[Capabilities, ...] | None, *, has_table: bool) -> bool:
    if adapters is None:
        return has_table or action in _PLAIN
    return any(is_able(action, can) for can in adapters)


def features_of(channel: str, adapters: Iterable[Capabilities] | None) -> frozenset[Feature]:
    """Parts that a channel can put into a message. `adapters` None: as the platform itself can."""
    rules = rules_for(channel)
    polls = rules.polls.features
    if adapters is None:
        return rules.features | polls
    found: set[Feature] = set()
    for can in adapters:
        found.update(feature for capability, feature in _FEATURES.items() if capability in can.can)
        if Action.SEND_WITH_EFFECT in can.actions:
            found.add(Feature.EFFECTS)
        if Capability.POLL in can.can:
            found |= polls
    return frozenset(found)


def check_enabled(action: Action, agent: str, config: GatewayConfig) -> None:
    """Raise `InvalidAction` for an action that `tools.message.disabled_actions` names for the agent."""
    if action in _disabled(config).get(agent, ()):
        sentence = f'Message action "{action}" is disabled for this agent.'
        remedy = "tools.message.disabled_actions names it."
        raise InvalidAction(sentence, Reason.ACTION_DISABLED, remedy=remedy)


@while_it_lives
def _disabled(config: GatewayConfig) -> Mapping[str, frozenset[Action]]:
    found = {one.id: frozenset(config.message_tool(one.id).disabled_actions) for one in config.agents}
    return {agent: actions for agent, actions in found.items() if actions}
