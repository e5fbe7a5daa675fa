"""Features of messages that only some channels have."""

from enum import StrEnum


class Feature(StrEnum):
    """A feature of messages on some channels; only there the tool's schema has the parameter."""

    BUTTONS = "buttons"
    CARDS = "cards"
    COMPONENTS = "components"
    EFFECTS = "effects"
    SILENT = "silent"
    #: a poll may close after some hours
    POLL_HOURS = "poll-hours"
    #: a poll may close after some seconds
    POLL_SECONDS = "poll-seconds"
    #: a poll may say whether it shows who voted for what
    ANONYMOUS_POLLS = "anonymous-polls"
