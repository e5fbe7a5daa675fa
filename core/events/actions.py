"""Events of the message tool: calls, policy decisions, questions, and what edits and deletions do to transcripts."""

from trunkline.core.action_catalogue import Action
from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address


class PolicyDecided(Body, frozen=True, kw_only=True):
    """The cross-context policy decided on an action: allowed, marked, or denied. Recorded before anything is stored."""

    action: Action
    allowed: bool
    reason: Reason
    #: where the turn works; none: nowhere, as a heartbeat does
    origin: Address | None
    target: Address
    #: the text before the message that marks it as one from elsewhere; empty: nothing stands before it
    mark: str = ""
    #: the same after the message
    mark_after: str = ""
    #: the description of the embed that marks it instead
    mark_embed: str = ""
    #: the setting below `tools.message` that decided
    setting: str = ""
    detail: str = ""


class ActionPreviewed(Body, frozen=True, kw_only=True):
    """A dry run of an action: nothing was stored, sent or asked."""

    action: Action
    channel: str
    place: Address | None = None
    text: str = ""


class ActionAnswered(Body, frozen=True, kw_only=True):
    """A platform answered a question of an agent, or failed to."""

    action: Action
    channel: str
    place: Address | None = None
    #: none: it answered
    reason: Reason | None = None
    detail: str = ""


class TranscriptChanged(Body, frozen=True, kw_only=True):
    """An edit or deletion changed a line of a transcript; the old text is kept with the line."""

    session_id: str
    session_key: str
    #: the intent or the message of a person that wrote the line
    line: str
    before: str
    #: the new text; empty for a deletion
    text: str = ""
    deleted: bool = False
