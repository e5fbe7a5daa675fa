"""The configured scopes of sessions and links of people, as the gateway's processes record them."""

from __future__ import annotations

from trunkline.core.channels import rules_for
from trunkline.core.config import DmScope
from trunkline.core.events.gateway import ConfigReloaded, ProcessStarted, RuleScopes
from trunkline.core.profile_rules import Profile
from trunkline.core.routing.route_rules import ANY
from trunkline.core.routing.session_keys import linked_name
from trunkline.core.values import Address, ChatKind

_Configured = tuple[str, str, dict[str, tuple[str, ...]], tuple[RuleScopes, ...]]


class RunScopes:
    """The scopes of a run, of its route rules, and its links of people: who shares a session with whom."""

    def __init__(self) -> None:
        self._configured: _Configured = ("", "", {}, ())
        #: incremented when the scopes may have changed
        self.changes = 0
        #: places whose route rule put a message into the main session
        self._in_main: set[tuple[str, str, str, str]] = set()
        #: the rule set of the newest process
        self.profile = Profile.TRUNKLINE.value

    @property
    def upstream(self) -> bool:
        """Whether the gateway follows an upstream profile, whose keys and scopes are not ours."""
        return self.profile not in ("", Profile.TRUNKLINE.value)

    @property
    def links(self) -> dict[str, tuple[str, ...]]:
        """Canonical name -> ids of one person."""
        return self._configured[2]

    def note_start(self, body: ProcessStarted) -> None:
        """A process started with its configuration, which need not be another one."""
        self.profile = body.profile
        self.changes += self._configure(body)

    def note_reload(self, body: ConfigReloaded) -> None:
        """A process has another configuration."""
        self._configure(body)
        self.changes += 1

    def _configure(self, body: ProcessStarted | ConfigReloaded) -> bool:
        before = self._configured
        self._configured = (body.dm_scope, body.group_scope, body.identity_links, body.rule_scopes)
        return self._configured != before

    def note_route(self, place: Address, scope: str) -> None:
        """A message was routed under a scope."""
        if scope == DmScope.MAIN:
            self._in_main.add(place.lane)

    def may_be_main(self, place: Address) -> bool:
        """Whether a conversation may have the main session, by its scope or that of a route rule that matches it."""
        direct = place.kind is ChatKind.DIRECT
        if self._configured[0 if direct else 1] == DmScope.MAIN or place.lane in self._in_main:
            return True
        rules = (rule for rule in self._configured[3] if _matches(rule, place))
        return any((rule.dm_scope if direct else rule.group_scope) == DmScope.MAIN for rule in rules)

    def must_be_main(self, place: Address) -> bool:
        """Whether a conversation must have the main session. Which of several route rules matches is not known here."""
        default = self._configured[0 if place.kind is ChatKind.DIRECT else 1]
        return default == DmScope.MAIN and not self._configured[3]

    def person(self, place: Address) -> str:
        """The person of a direct conversation: the linked name (``*ana``), else the platform's id."""
        rules = rules_for(place.channel)
        name = linked_name(rules, place.conversation, self.links)
        return f"*{name}" if name else rules.fold(place.kind, place.conversation)


def _matches(rule: RuleScopes, place: Address) -> bool:
    """Whether a route rule is about a place, or about the room of a thread."""
    if rule.channel != place.channel or rule.account not in (ANY, place.account):
        return False
    if rule.direct is not None and rule.direct is not (place.kind is ChatKind.DIRECT):
        return False
    fold = rules_for(place.channel).fold
    rooms = [fold(place.kind, room) for room in (place.conversation, place.parent) if room]
    return rule.peer is None or fold(place.kind, rule.peer) in rooms
