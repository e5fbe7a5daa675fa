"""Reads the updates of an account: checks the workspace, and learns the ids of direct conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from trunkline.core.adapters.json_values import as_object, as_objects
from trunkline.core.adapters.slack.inbound.events import (
    Kind,
    SlackSelf,
    UnreadableUpdate,
    kind_of,
    read_message,
    read_presses,
)
from trunkline.core.values import Envelope

#: bytes of an update; Slack's longest message has 40 000 characters
LARGEST_UPDATE = 4 * 1024 * 1024


class OtherTeam(ValueError):
    """An update is for another workspace."""


class SlackReader:
    """Turns updates into envelopes."""

    def __init__(self, account: str) -> None:
        self._account = account
        #: conversation -> its kind, as far as events said it
        self._kinds: dict[str, Kind] = {}
        #: user -> their direct conversation ``D...``, and the reverse
        self._direct: dict[str, str] = {}
        self._users: dict[str, str] = {}

    def direct_of(self, user: str) -> str | None:
        """The id of the direct conversation with a user, as far as known."""
        return self._direct.get(user.upper())

    def user_of(self, direct: str) -> str | None:
        """The user of a direct conversation, as far as known."""
        return self._users.get(direct)

    def learn_direct(self, user: str, direct: str) -> None:
        """Note the id of a direct conversation."""
        self._direct[user.upper()] = direct
        self._users[direct] = user

    def event(self, payload: Mapping[str, Any], me: SlackSelf) -> list[Envelope]:
        """The message of an event, if any. Raises `UnreadableUpdate` and `OtherTeam`."""
        self._check_team(_teams(payload), me)
        event = payload.get("event")
        if not isinstance(event, dict):
            raise UnreadableUpdate("`event` is missing")
        fields = cast("dict[str, Any]", event)
        self._learn_kind(fields)
        team = payload.get("team_id")
        found = read_message(fields, self._account, me, self._kinds, team if isinstance(team, str) else me.team)
        if found is None:
            return []
        # Another app that writes into a direct conversation is not the person whose conversation it is.
        if found.webhook is None and kind_of(fields.get("channel_type"), str(fields.get("channel"))) == "im":
            self.learn_direct(found.peer.id, str(fields["channel"]))
        return [found]

    def interaction(self, payload: Mapping[str, Any], me: SlackSelf) -> list[Envelope]:
        """The pressed buttons of an interaction. Raises `UnreadableUpdate` and `OtherTeam`."""
        named = as_object(payload.get("team")).get("id")
        self._check_team({named} if isinstance(named, str) else set(), me)
        return read_presses(payload, self._account, self._kinds, named if isinstance(named, str) else me.team)

    def _check_team(self, teams: set[str], me: SlackSelf) -> None:
        if teams and me.team not in teams:
            raise OtherTeam(f"it is for the workspace {', '.join(sorted(teams))}")

    def _learn_kind(self, event: Mapping[str, Any]) -> None:
        channel, kind = event.get("channel"), event.get("channel_type")
        if isinstance(channel, str) and isinstance(kind, str):
            self._kinds[channel] = kind_of(kind, channel)


def _teams(payload: Mapping[str, Any]) -> set[str]:
    """The workspaces of an event: in a shared channel, the workspaces of all installations there."""
    authorizations = as_objects(payload.get("authorizations"))
    given = [payload.get("team_id"), *(authorization.get("team_id") for authorization in authorizations)]
    return {team for team in given if isinstance(team, str)}
