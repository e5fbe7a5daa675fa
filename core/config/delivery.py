"""Configuration of delivery."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.core.config.base import Duration, Flag, Model


class DeliveryConfig(Model):
    """How outbound messages are delivered."""

    request_timeout: Duration = 10.0
    """A send without a response after this long is ambiguous."""
    hook_timeout: Duration = 5.0
    """A hook that has not returned after this long has failed."""
    max_attempts: int = Field(default=5, gt=0)
    """Attempts at a chunk before it is given up."""
    max_interrupted: int = Field(default=10, ge=0)
    """Attempts at a chunk that `max_attempts` does not count, since the process ended before their outcome was known.
    Only where the platform has idempotency keys or look-up: there the next process can find out."""
    backoff: tuple[Duration, ...] = Field(default=(5.0, 25.0, 120.0, 600.0), min_length=1)
    """Wait before attempt 2, 3, ...; the last value repeats."""
    max_age: Duration = 86400.0
    """Messages older than this expire instead of being sent."""
    ambiguous: Literal["park", "resend-marked"] = "park"
    """What to do with a chunk that may have been accepted if the platform has neither idempotency keys nor look-up:
    park it for an operator, or send it once more with `mark` before its text."""
    mark: str = Field(default="[may be a repeat] ", min_length=1)
    """Prefix of a text that is sent once more."""
    not_ready_wait: Duration = 5.0
    """How long to wait before checking again whether a missing or unready adapter can send."""
    recovery_rate: Annotated[float, Field(gt=0)] | None = None
    """Recovered messages sent per second and account after a restart; no limit if omitted."""
    max_text: int = Field(default=1_000_000, gt=0)
    """Maximum length of a text, in characters, that is accepted for sending."""
    lanes: int = Field(default=256, gt=0)
    """Number of conversations that are sent to concurrently."""
    window: int = Field(default=10_000, gt=0)
    """Number of open messages held in memory; beyond it only ids are held."""
    max_backlog: int = Field(default=1_000_000, gt=0)
    """Number of open messages at which senders have to wait."""
    max_backlog_per_conversation: int = Field(default=10_000, gt=0)
    """The same limit for one conversation."""
    lease: Annotated[Duration, Field(gt=0)] = 60.0
    """A gateway that has not renewed its lease on the store for this long is considered gone, and another takes over.
    The lease is renewed three times as often, and is never shorter than three times `request_timeout`."""
    watch: Duration = 20.0
    """A running gateway applies an operator's changes to the store file within this time."""
    failed_notice: str = "Sorry, my answer could not be delivered."
    """Text to the person whose answer could not be delivered, at the same place; empty: none. It is not sent to a place
    where nothing can be posted any more."""
    doubt_notice: str = "Sorry, my answer may not have arrived. Please ask again if it has not."
    """Text to the person whose answer is parked, because nobody can find out whether it has arrived, at the same place;
    empty: none."""
    closed_notice: str = (
        "Sorry, my answer cannot be posted while its thread is closed. It follows if it is opened again."
    )
    """Text in the room of a thread that is closed when an answer for it is ready; empty: none. Needs `notice_in_room`.
    The answer is tried again until it is older than `max_age`."""
    notice_in_room: Flag = True
    """Whether notices about an answer go to the room of its thread, if nothing can be posted in the thread."""
    notify_agent: Flag = False
    """Whether a message that could not be delivered starts a turn of its agent. The transcript gets a line of it in any
    case."""
    retention: Duration = 30 * 86400.0
    """How long finished messages, and the records that detect duplicates of received ones, are kept."""
