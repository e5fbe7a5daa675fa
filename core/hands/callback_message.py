"""How the outcome of a delegation is shown to a model: as data of a hand, which cannot pass for anything else. Pure.

    clerk wrote:
    outcome: ok
    delegation: in-1.hand1
    <data-1f0c9e63b5a84d27>
    Found 47 unread mails.
    </data-1f0c9e63b5a84d27>

What a hand returns may come from anywhere, so it may contain instructions. The fence is made from the text itself and
does not occur in it: no text can close its own fence.
"""

import hashlib
import unicodedata

from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import DelegationId

#: what a model reads of an outcome; only the first is a result
OUTCOMES = {
    HandOutcome.OK: "ok",
    HandOutcome.ERROR: "error (the task failed; what follows is the error, and not a result)",
    HandOutcome.TIMEOUT: "timeout (the task took too long and was ended; there is no result)",
    HandOutcome.CANCELLED: "cancelled (the task was ended before it was done; there is no result)",
    HandOutcome.LOST: "lost (the process that worked on the task died; there is no result)",
}
#: hexadecimal digits in a fence
_DIGITS = 16
#: characters of a name or a label on its line
_LONGEST = 200


def callback_message(
    *, hand: str, outcome: HandOutcome, text: str, delegation: DelegationId | None = None, label: str = ""
) -> str:
    """The outcome of a delegation as a message for a model, with `text` unmodified between the fences."""
    lines = [f"{one_line(hand)} wrote:", f"outcome: {OUTCOMES[outcome]}"]
    if delegation is not None:
        lines.append(f"delegation: {one_line(delegation)}")
    if label.strip():
        lines.append(f"label: {one_line(label)}")
    return "\n".join((*lines, as_data(text)))


def as_data(text: str) -> str:
    """A text from elsewhere as data for a model: unmodified, between fences which do not occur in the text."""
    name = fence_of(text)
    return f"<{name}>\n{text}\n</{name}>"


def fence_of(text: str) -> str:
    """The name of the fence around a text: made from the text, and found nowhere inside."""
    number = 0
    while True:
        salted = f"{number}:{text}".encode("utf-8", "surrogatepass")
        name = f"data-{hashlib.sha256(salted).hexdigest()[:_DIGITS]}"
        if name not in text:
            return name
        number += 1


def one_line(text: str) -> str:
    """A name as a part of a line outside the fence: without line breaks and invisible characters."""
    shown = "".join(character if character.isprintable() else " " for character in unicodedata.normalize("NFC", text))
    words = " ".join(shown.split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
