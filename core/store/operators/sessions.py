"""Sessions and transcripts for operators, in pages."""

import msgspec

from trunkline.core.store.queries import Read

TRANSCRIPT_VERSION = 1


class SessionHeader(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    version: int = TRANSCRIPT_VERSION
    session_key: str
    session_id: str
    generation: int
    #: why it ended: its key has another session now; none: it goes on
    ended: str | None = None


class SpokenLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="line"):
    """Every other line of a transcript."""

    role: str
    text: str
    #: the message or intent that it came from
    ref: str
    #: only a part of the intent was accepted
    partial: bool
    #: seconds on the gateway's clock, and the same as text; none: not a valid date
    at: float
    time: str | None
    #: what it said before its message was edited, oldest first
    was: tuple[str, ...] = ()
    deleted: bool = False


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    session: SessionHeader
    #: how many lines its transcript has, and the time of the newest
    lines: int
    last_at: float | None = None


class SessionsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, also ended ones, ordered by key and generation."""

    sessions: tuple[SessionSummary, ...]
    #: the cursor of the page behind this one; none: this is the last
    next: str | None = None


class TranscriptPage(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a transcript, in the order in which they were stored."""

    session: SessionHeader
    lines: tuple[SpokenLine, ...]
    #: there are more lines in the direction that was asked for
    more: bool
    #: the cursor of what is older than this page, and of what is newer, also of what is added later;
    #: none: there is no line here
    older: str | None = None
    newer: str | None = None


class ReadSessions(Read[SessionsPage], frozen=True, kw_only=True):
    """A page of the sessions behind a cursor. Raises `BadCursor`."""

    cursor: str = ""
    limit: int = 100


class DescribeSession(Read[SessionSummary], frozen=True, kw_only=True):
    """The session with this key, in any form, or this former key; or with this id, even if it has ended.

    Raises `UnknownName`, which names similar ones.
    """

    name: str


class ReadTranscriptPage(Read[TranscriptPage], frozen=True, kw_only=True):
    """A page of a transcript: from its beginning, from its end with `backwards`, or from a cursor.

    It has fewer lines than `limit` where their texts are long, and at least one if there is any. Raises `UnknownName`
    as `DescribeSession`, and `BadCursor`.
    """

    name: str
    cursor: str = ""
    backwards: bool = False
    limit: int = 100


#: queries that stores of earlier versions answer too
EVERY_VERSION = frozenset({ReadSessions, DescribeSession, ReadTranscriptPage})
