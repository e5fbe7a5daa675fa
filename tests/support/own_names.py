"""The names of an account that readers of updates need."""

from trunkline.core.adapters.own_names import OwnAccount, OwnNames


def own_names(channel: str, *names: str, account: str = "default") -> OwnAccount:
    """The view of an account that knows its names."""
    own = OwnNames().of(channel, account)
    own.learn(*names)
    return own
