"""The simulated world: accounts, people and what they do, calls, places, posts and pushes.

Recorded by the runner and by the simulated platforms, never by the gateway.
"""

from typing import ClassVar

import msgspec

from trunkline.core.values import Address, Idempotency, Peer
from trunkline.sim.events.base import PlatformBody, SimBody

#: the usual value of `WorldLimits.chain`, which is not written
USUAL_CHAIN = (20, 3600.0)


class AgentContexts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Where an agent may write outside of the conversation of its turn, and what is marked, as configured."""

    agent: str
    #: to other conversations of the platform, and to other platforms
    within: bool = True
    across: bool = False
    #: from turns that work in no conversation: ``any``, ``last`` or ``none``, and what is listed
    reach: str = "any"
    targets: tuple[str, ...] = ()
    #: which of the three are marked
    marks_within: bool = False
    marks_across: bool = True
    marks_nowhere: bool = True
    #: the text of the mark, with ``{channel}`` for the name of the place
    prefix: str = "[from {channel}] "
    suffix: str = ""


class TextLimit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The longest text of a message of an account, as configured."""

    channel: str
    account: str
    #: UTF-16 code units
    length: int


class WorldLimits(SimBody, frozen=True, kw_only=True):
    """The configured limits of delivery and of the cross-context policy, which invariants enforce."""

    max_attempts: int
    #: seconds after which an intent expires
    max_age: float
    #: prefix of a text that is resent although it may have arrived; none: such texts are parked
    mark: str | None = None
    #: recovered messages per second and account; none: unlimited
    recovery_rate: float | None = None
    #: attempts that a death interrupted, and that `max_attempts` does not count
    max_interrupted: int = 0
    #: conversations that are sent to at the same time; none: any number
    lanes: int | None = None
    #: the longest wait before another attempt, in seconds; none: unknown
    backoff: float | None = None
    #: the cross-context policy; none: earlier versions and upstream profiles, whose crossings are not judged
    contexts: tuple[AgentContexts, ...] | None = None
    #: callbacks have a prompt of their own
    callback_prompt: bool = True
    #: seconds after which a delegation has ended at the latest; none: unknown
    hand_age: float | None = None
    #: the waits after the first, the second and later failed attempts, in seconds; empty: unknown, or none
    waits: tuple[float, ...] = ()
    #: seconds for which a response is waited for
    timeout: float = 0.0
    #: the longest text of a message, where the configuration says one
    texts: tuple[TextLimit, ...] = ()
    #: channels on which the result of bound work goes to its bound conversation, and else to nobody
    closed: tuple[str, ...] = ()
    #: the whole configuration, as JSON without its defaults; empty: a trace of an earlier version
    config: str = ""
    #: how many turns may follow from each other without a person, and the seconds that end such a chain of bots; none:
    #: as many as usual
    chain: tuple[int, float] | None = None
    #: the notices about an answer that failed, that is in doubt, and that waits for its place; none: unknown, or an
    #: upstream profile
    notices: tuple[str, str, str] | None = None
    #: a notice that nobody may have read is repeated when somebody writes at its place
    repeats_notices: bool = False
    #: notices may go to the room of a thread that takes nothing
    notice_in_room: bool = True
    #: the longest text that is accepted, in characters; none: unknown
    max_text: int | None = None


class WorldHeartbeat(SimBody, frozen=True, kw_only=True):
    """The configured heartbeat of an agent, which invariants enforce."""

    agent: str
    #: seconds between two runs; 0: never
    every: float
    #: ``last``, ``owner``, ``none`` or a channel; empty: the default
    target: str = ""
    #: active hours as ``HH:MM``, with their time zone; empty: always
    start: str = ""
    end: str = ""
    timezone: str = ""
    #: accounts in whose places an acknowledgement is shown, as ``<channel>:<account>``
    ok_shown: tuple[str, ...] = ()
    #: what stands before its texts; empty: nothing
    prefix: str = ""
    #: the reasoning in its texts is shown
    reasoning: bool = False


class WorldAccount(SimBody, frozen=True, kw_only=True):
    """A bot account of the gateway exists on a platform."""

    channel: str
    account: str
    bot: Peer
    #: the platform's support for lost responses; none if unknown
    idempotency: Idempotency | None = None
    #: its responses carry no message id
    nameless: bool = False
    #: the usual time of a request or of an answer on its way, in seconds
    latency: float = 0.0


class WorldPerson(SimBody, frozen=True, kw_only=True):
    """A person exists on a platform."""

    channel: str
    peer: Peer


class WorldPlace(PlatformBody, frozen=True, kw_only=True):
    """A conversation, thread or topic exists; `name` is its name in scenario files."""

    address: Address
    name: str
    #: the name of the parent, for threads and topics
    under: str | None = None


class WorldSession(SimBody, frozen=True, kw_only=True):
    """A session of an earlier version is in the store before the first process starts."""

    session_key: str
    session_id: str
    #: its conversation, if the scenario names it
    address: Address | None = None


class PeerSaid(PlatformBody, frozen=True, kw_only=True):
    """A person posted a message on the platform."""

    address: Address
    peer: Peer
    message_id: str
    text: str
    #: words that only the people of this conversation may see (invariant P1)
    secret: str = ""
    #: posted by a bot or a webhook
    bot: bool = False
    #: the gateway's own webhook that posted it, if this is an echo
    echo_of: str | None = None
    #: the message that a proxy replaced by this one
    stands_for: str | None = None
    #: nothing was written: a button of this message was pressed, and `text` is its value
    pressed: str | None = None
    #: names of the files in it
    files: tuple[str, ...] = ()
    #: the first message of what the person does at once; none: the message is all of it
    act: str | None = None

    @property
    def words(self) -> str:
        """The text, and the names of the files."""
        return " ".join(filter(None, (self.text, *(f"[{file}]" for file in self.files))))


class PlatformPushed(PlatformBody, frozen=True, kw_only=True):
    """The platform delivered an inbound message to the gateway's live connection."""

    address: Address
    #: id of this delivery
    message_id: str
    #: id of the original post; differs if a replay assigns new ids
    original_id: str
    replay: bool = False
    #: the message that something was done to; none: it is a message itself
    deed_of: str | None = None


class PlatformConfirming(PlatformBody, frozen=True, kw_only=True):
    """The confirmation of an inbound message arrived, and the platform has not taken it yet.

    Recorded of platforms whose clients confirm with a request of their own, such as polls with an offset.
    """

    address: Address
    message_id: str


class PlatformConfirmed(PlatformBody, frozen=True, kw_only=True):
    """The gateway confirmed an inbound message: the platform does not deliver it again."""

    address: Address
    message_id: str
    #: not read: the gateway had the platform discard everything that waited for it
    dropped: bool = False


class PlatformConnected(PlatformBody, frozen=True, kw_only=True):
    """A gateway process opened its connection for an account."""

    channel: str
    account: str


class ThreadOpened(PlatformBody, frozen=True, kw_only=True):
    """A thread was opened by a person or for the gateway, possibly on a message."""

    address: Address
    name: str
    on_message: str | None = None


class ThreadRequestAbandoned(PlatformBody, frozen=True, kw_only=True):
    """The gateway gave up a request to open a thread. It may still arrive; then nobody learns the thread's id."""

    kind: ClassVar[str] = "thread.abandoned"
    #: the place where the thread was to be opened
    address: Address
    #: what the thread is for
    key: str


class ThreadClosed(PlatformBody, frozen=True, kw_only=True):
    """A thread was archived or deleted."""

    address: Address
    how: str


class ThreadReopened(PlatformBody, frozen=True, kw_only=True):
    """An archived thread accepts messages again, after a post or an unarchive."""

    address: Address


class CredentialRotated(PlatformBody, frozen=True, kw_only=True):
    """An account has a new token and older ones are refused. `number` counts the tokens from 1."""

    channel: str
    account: str
    number: int
    #: seconds until the gateway gets it
    tell: float = 0.0


class WebhookGone(PlatformBody, frozen=True, kw_only=True):
    """A webhook was deleted, or the account lost access to it. `how` is ``deleted`` or ``forbidden``."""

    channel: str
    webhook: str
    how: str


class PeerReacted(PlatformBody, frozen=True, kw_only=True):
    """A person reacted to a message, or took a reaction away."""

    address: Address
    peer: Peer
    message_id: str
    emoji: str
    removed: bool = False
    #: it was so already
    repeated: bool = False


class PeerVoted(PlatformBody, frozen=True, kw_only=True):
    """A person voted in a poll. The gateway does not hear of it; it may ask for the results."""

    address: Address
    peer: Peer
    message_id: str
    #: the chosen options; empty: the vote was withdrawn
    options: tuple[str, ...]
    #: what was chosen before
    before: tuple[str, ...] = ()
    #: it was so already
    repeated: bool = False


class PeerEdited(PlatformBody, frozen=True, kw_only=True):
    """A person edited a message of theirs."""

    address: Address
    peer: Peer
    message_id: str
    text: str
    before: str


class PeerDeleted(PlatformBody, frozen=True, kw_only=True):
    """A person deleted a message of theirs."""

    address: Address
    peer: Peer
    message_id: str
    before: str


class CallStarted(PlatformBody, frozen=True, kw_only=True):
    """A person calls an account; it rings. The call is the thread of the address."""

    address: Address
    peer: Peer
    #: its name in the scenario
    name: str


class CallChanged(PlatformBody, frozen=True, kw_only=True):
    """A call was answered, put on hold, taken off hold, or has ended."""

    address: Address
    #: ``answered``, ``held``, ``resumed`` or ``ended``
    state: str
    #: why it has ended: ``hung-up``, ``busy`` or ``no-answer``
    why: str = ""


class SpeechHeard(PlatformBody, frozen=True, kw_only=True):
    """A person has heard what the gateway says in their call, or only the beginning of it."""

    #: the call
    address: Address
    #: the place that the gateway named: the call, or only the number
    requested: Address
    #: what was heard, and whether that is all
    text: str
    whole: bool
    #: how long it was heard
    seconds: float
    chunk: int
    attempt: int
