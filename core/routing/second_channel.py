"""Where a person gets what could not be said any more because their call had ended. Pure.

It must surely be the same person: identity links name exactly one id of theirs on the configured channel. Links of
another kind, such as an id without its channel, are not enough to send words somewhere else.
"""

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.routing.session_keys import linked_name
from trunkline.core.values import Address, ChatKind


class SecondChannel(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The person's id on the second channel; without one, `why` says what is missing."""

    channel: str
    target: str | None = None
    why: str = ""


def second_channel(place: Address, config: GatewayConfig) -> SecondChannel | None:
    """The second channel of the person in a call; None if none is configured for the channel of the call.

    >>> config = GatewayConfig.model_validate(
    ...     {"channels": {"voice": {"after_call": "telegram"}},
    ...      "session": {"identity_links": {"ana": ["voice:+15551234567", "telegram:7"]}}}
    ... )
    >>> call = Address(channel="voice", account="a", kind=ChatKind.DIRECT, conversation="+15551234567", thread="1")
    >>> second_channel(call, config).target
    '7'
    """
    channel = (config.channel(place.channel).after_call or "").strip().lower()
    if not channel or channel == place.channel or place.kind is not ChatKind.DIRECT:
        return None
    links, rules = config.session.identity_links, rules_for(channel)
    name = linked_name(rules_for(place.channel), place.conversation, links, config.rules)
    if name is None:
        return SecondChannel(channel=channel, why=f"no identity link has {place.channel}:{place.conversation}")
    prefix = f"{channel}:"
    entries = (entry.strip() for own, ids in links.items() if own.strip().lower() == name for entry in ids)
    ids = [entry[len(prefix) :].strip() for entry in entries if entry.lower().startswith(prefix)]
    distinct = {rules.fold(ChatKind.DIRECT, alias): alias for alias in ids if alias}
    if len(distinct) != 1:
        count = f"{len(distinct)} ids" if distinct else "no id"
        return SecondChannel(channel=channel, why=f"the identity link {name!r} has {count} on {channel}")
    return SecondChannel(channel=channel, target=next(iter(distinct.values())))
