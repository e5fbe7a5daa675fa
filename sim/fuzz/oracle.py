"""Judges a random scenario from the wire alone: from messages of people, and from messages that platforms accepted.

It knows nothing of the gateway's events and nothing of the invariants, so it may find what they all overlook. Each
message has a word of its own, which its answer repeats. The oracle says three things of plain answers, each only where
the scenario leaves no doubt: one is seen in the place that asked; it is seen once, where the platform recognises
what is sent again; and where nothing troubles the gateway, there is one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from trunkline.core.events import Event
from trunkline.core.values import Address, Idempotency
from trunkline.sim.events import wire, world

#: kind of an error -> its title
ORACLE_KINDS = {
    "ELSEWHERE": "an answer is seen at another place",
    "AGAIN": "an answer is seen twice",
    "SILENCE": "a message is not answered, although nothing keeps the answer back",
}
#: an answer that an agent gives to nothing else than this message
_PLAIN = re.compile(r"re: (?:hello|lines) (q\d+z)")
_ASKED = re.compile(r"(?:hello|lines) (q\d+z)")
#: what may move a text to another place, as the JSON of a scenario has it
_MOVES = re.compile(r'"(?:hooks|bind|delete|spawn_subagent_sessions|after_call|proxy|via)": |/focus')
#: what permits that a text is seen again
_REPEATS = re.compile(r'"(?:ambiguous|key_seconds|clock|queue|hooks|echoes|via|proxy|cannot)": ')
#: what may keep an answer back, or change its first words
_TROUBLES = re.compile(
    r'"(?:hooks|fault|crash|restart|freeze|second|clock|reload|reset|archive|delete|rotate|webhook|bind|bot|via|proxy'
    r'|replay|delivery|channels|bindings|person|cannot|chain|hang_up|heartbeat|cron|turns|profile|limits|nonsense)": '
)


def errors_of(text: str, events: Sequence[Event]) -> Iterator[tuple[str, int, str]]:
    """The errors of a run, each with its kind, the number of an event, and a sentence.

    `text` is the scenario as JSON.
    """
    said: dict[str, tuple[Event, Address]] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    sure = set[tuple[str, str]]()
    opens = '"auto_thread": true' in text
    moves, repeats = _MOVES.search(text) is not None, _REPEATS.search(text) is not None
    for event in events:
        body = event.body
        match body:
            case world.WorldAccount(idempotency=Idempotency.KEY | Idempotency.LOOKUP):
                sure.add((body.channel, body.account))
            case world.PeerSaid():
                for asked in _ASKED.finditer(body.text):
                    said.setdefault(asked[1], (event, body.address))
            case wire.WireAccepted():
                answer = _PLAIN.match(body.text)
                if answer is None:
                    continue
                place = said[answer[1]][1] if answer[1] in said else None
                if not moves and (place is None or not _is_there(body.address, place, opens=opens)):
                    yield "ELSEWHERE", event.seq, f"{body.text!r} answers {place}, and is seen in {body.address}"
                seen[answer[1], body.address, body.chunk] += 1
                again = seen[answer[1], body.address, body.chunk] == 2 and not repeats
                if again and (body.address.channel, body.address.account) in sure:
                    yield "AGAIN", event.seq, f"{body.text!r} is seen twice in {body.address}"
            case _:
                pass
    if _TROUBLES.search(text) is None:
        answered = {word for word, *_ in seen}
        for word, (event, place) in said.items():
            if word not in answered:
                yield "SILENCE", event.seq, f"{word}, said in {place}, is not answered"


def _is_there(seen: Address, place: Address, *, opens: bool) -> bool:
    """Whether an answer is seen where it was asked for, by whichever of the bots, or in a thread opened there."""
    if seen.channel != place.channel:
        return False
    same = (seen.conversation, seen.thread) == (place.conversation, place.thread)
    root, below = seen.parent or seen.conversation, seen.parent is not None or seen.thread is not None
    return same or (opens and below and place.thread is None and root == place.conversation)
