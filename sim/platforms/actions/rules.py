"""The limits of actions on a platform. Pure values; one for each fake platform."""

import msgspec


class ActionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The actions allowed by a platform, how often and how long."""

    #: a bot has one reaction on a message, and another one replaces it
    one_reaction: bool = False
    #: a bot may delete messages of others in rooms
    deletes_others: bool = False
    #: seconds after which a message can no longer be edited, or deleted; None: always
    edit_seconds: float | None = None
    delete_seconds: float | None = None
    #: how often a message can be edited; None: any number of times
    edits: int | None = None
    #: how many messages a room can have pinned; None: any number
    pins: int | None = None
    effects: frozenset[str] = frozenset()
