"""Sender names that people cannot have, and how a person who bears one is shown. Pure.

A result has the sender ``hand:<id>``, and a task the sender ``agent:<id>``. Some platforms let people choose their ids
or names, and an agent would take a person who is shown as ``hand:clerk`` for the hand. So the person is shown as
``person:hand:clerk``. The escape can be undone, and two people never become one. What is stored of the person, sessions
and routes use the platform's own id.
"""

import re
import unicodedata

from trunkline.core.values import Peer

#: what the sender of every result begins with, and that of every task
PREFIX, CALLER = "hand:", "agent:"
#: what is put before a person's id or name that begins with one of them
ESCAPE = "person:"
_RESERVED = re.compile(rf"(?:{ESCAPE}\s*)*(?:hand|agent)\s*:")
#: letters and signs of other scripts that look like those of the prefix, beside those that Unicode folds (full width)
_LOOK_ALIKES = str.maketrans(
    {
        "\u04bb": "h",  # Cyrillic shha
        "\u0570": "h",  # Armenian ho
        "\u13c2": "h",  # Cherokee ni, a capital H
        "\u041d": "h",  # Cyrillic en, a capital H
        "\u043d": "h",
        "\u0397": "h",  # Greek eta, a capital H
        "\u0430": "a",  # Cyrillic a
        "\u0251": "a",  # Latin alpha
        "\u03b1": "a",  # Greek alpha
        "\u0578": "n",  # Armenian vo
        "\u057c": "n",  # Armenian ra
        "\u03b7": "n",  # Greek eta
        "\u0501": "d",  # Cyrillic komi de
        "\u13e7": "d",  # Cherokee tsu
        "\u0261": "g",  # Latin script g
        "\u0581": "g",  # Armenian co
        "\u0435": "e",  # Cyrillic ie
        "\u03b5": "e",  # Greek epsilon
        "\u0442": "t",  # Cyrillic te
        "\u03c4": "t",  # Greek tau
        "\u2236": ":",  # ratio
        "\u02d0": ":",  # modifier letter triangular colon
        "\u02f8": ":",  # modifier letter raised colon
        "\ua789": ":",  # modifier letter colon
        "\u0589": ":",  # Armenian full stop
        "\u05c3": ":",  # Hebrew sof pasuq
        "\u0703": ":",  # Syriac supralinear colon
        "\u0704": ":",
        "\u1803": ":",  # Mongolian full stop
        "\u205a": ":",  # two dot punctuation
    }
)
#: format characters and combining marks: they are invisible, or change a letter so little that it is read as the same
_UNSEEN = frozenset({"Cf", "Cc", "Mn", "Me"})


def hand_sender(hand: str) -> Peer:
    """The sender of a hand's results."""
    return Peer(id=f"{PREFIX}{hand}", name=hand)


def caller_sender(agent: str) -> Peer:
    """The sender of the tasks that an agent delegates to another."""
    return Peer(id=f"{CALLER}{agent}", name=agent)


def is_reserved(name: str) -> bool:
    """Whether an id or a name begins like that of a hand or a caller, or looks as if it did."""
    if ":" not in name and name.isascii():
        # Nearly every name: it has no sign that could be read as that of the prefix.
        return False
    return _RESERVED.match(_folded(name)) is not None


def as_person(peer: Peer) -> Peer:
    """A person as agents see them: escaped if the id or the name is reserved."""
    id, name = _escaped(peer.id), _escaped(peer.name)  # noqa: A001 -- the word
    return peer if id is peer.id and name is peer.name else Peer(id=id, name=name)


def _escaped(name: str) -> str:
    return f"{ESCAPE}{name}" if name and is_reserved(name) else name


def _folded(name: str) -> str:
    """The beginning of a name as a reader sees it."""
    if name.isascii():
        # What is cut off below is a control character here.
        return name.translate(_NO_CONTROLS).lstrip().lower()
    # Marks that belong to a letter are removed after the letter is taken apart.
    apart = unicodedata.normalize("NFKD", name)
    seen = "".join(
        character for character in apart if unicodedata.category(character) not in _UNSEEN or character.isspace()
    )
    return seen.translate(_LOOK_ALIKES).casefold().translate(_LOOK_ALIKES).lstrip()


_NO_CONTROLS = {code: None for code in (*range(32), 127) if not chr(code).isspace()}
