"""Visibility of a heartbeat."""

import msgspec

from trunkline.core.channels import ChannelRulebook
from trunkline.core.config import GatewayConfig, VisibilityConfig
from trunkline.core.config.gateway import DEFAULTS


class Visibility(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Visibility of a heartbeat, each setting resolved."""

    #: an acknowledgement is delivered
    show_ok: bool = False
    #: everything else is delivered
    show_alerts: bool = True
    #: events carry how the run ended, for indicators
    use_indicator: bool = True

    @property
    def nothing(self) -> bool:
        """Whether a run would show nothing, so that there is no reason for it."""
        return not (self.show_ok or self.show_alerts or self.use_indicator)


def resolve_visibility(config: GatewayConfig, channel: str | None, account: str | None = None) -> Visibility:
    """Each setting of the account, else of the channel, else of `channels.defaults`, else the usual one.

    Without a channel everything is as usual. A channel that delivers nothing has the settings of `channels.defaults`.
    """
    if channel is None:
        return Visibility()
    shared = config.channel(DEFAULTS).heartbeat
    if not config.rules[ChannelRulebook].delivers(channel):
        return _first(shared)
    named = config.channel(channel)
    # Names of accounts are case-insensitive.
    wanted = (account or "").lower()
    own = next((one.heartbeat for name, one in named.accounts.items() if name.lower() == wanted), VisibilityConfig())
    return _first(own, named.heartbeat, shared)


def _first(*settings: VisibilityConfig) -> Visibility:
    usual = Visibility()

    def one(name: str) -> bool:
        found = (getattr(each, name) for each in settings)
        return next((value for value in found if value is not None), getattr(usual, name))

    return Visibility(show_ok=one("show_ok"), show_alerts=one("show_alerts"), use_indicator=one("use_indicator"))
