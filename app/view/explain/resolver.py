"""Which session a conversation resolves to at an event, and why each binding won or lost.

A binding wins only by its full address: channel, account, conversation and thread, as the channel compares them
(`core.bindings.conversation_match`). Without a binding the conversation takes the default route recorded in the trace.
"""

from collections.abc import Iterator
from functools import cache, partial

import msgspec

from trunkline.app.text.cells import clean, count, seconds
from trunkline.app.text.fact import Fact, Tone, reason_text
from trunkline.app.view.index.bindings import BindingRow, Standing
from trunkline.app.view.index.places import UNDER, Place, Places, title
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.core.bindings.conversation_match import hangs_under, same_place
from trunkline.core.channels import rules_for
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, hands
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.gateway import InboundReceived, RouteDecided
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.world import PeerSaid


class ConsideredBinding(msgspec.Struct, frozen=True, kw_only=True):
    row: BindingRow
    standing: Standing
    chosen: bool
    why: str


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    asked: Address
    #: none: the default route
    binding: BindingRow | None
    #: none: nothing was ever posted there, so no session is known
    session_key: str | None
    #: what decided: the binding, or the route of the last message before the cursor
    because: str
    #: the event that recorded it; 0: none
    seq: int = 0
    considered: tuple[ConsideredBinding, ...] = ()


def resolve(view: RunView, place: Address, seq: int) -> Resolution:
    """The binding, else the default route, that a conversation resolves to after event `seq`."""
    considered = tuple(_considered(view, place, seq))
    won = next((candidate.row for candidate in considered if candidate.chosen), None)
    key, recorded = (None, 0) if won is None else (won.session_key, won.since)
    because = "it is bound: same channel, account, conversation and thread"
    if won is None:
        # The last decision for the conversation, other than by a binding.
        routes = (event for where, event in view.last_routes(seq) if same_place(where, place))
        route = max(routes, key=lambda event: event.seq, default=None)
        because = "it is not bound, and nothing was posted there so far"
        if route is not None and isinstance(route.body, RouteDecided):
            recorded = route.seq
            key = view.session_moves.key_at(view.session_moves.last_key(route.body.session_key, recorded), seq)
            because = f"it is not bound; its last message took the default route ({route.body.matched_by})"
    return Resolution(asked=place, binding=won, session_key=key, because=because, seq=recorded, considered=considered)


def _considered(view: RunView, place: Address, seq: int) -> Iterator[ConsideredBinding]:
    """Every binding so far: those of the conversation first, then those of its parent and its threads."""
    found: list[tuple[int, ConsideredBinding]] = []
    now = view.time(seq)
    # A long run binds the same few conversations again and again.
    compare = cache(partial(_compare, place=place))
    for row in view.bindings.rows(seq):
        standing = row.standing(seq, now)
        if standing is not Standing.LATER:
            rank, why = compare(row.conversation)
            chosen = rank == 0 and standing is Standing.ACTIVE
            if rank == 0:
                why = "same channel, account, conversation and thread" if chosen else _no_longer(row, standing)
            found.append((rank, ConsideredBinding(row=row, standing=standing, chosen=chosen, why=why)))
    # Newest first: the current binding of a conversation comes before earlier ones.
    ordered = sorted(found, key=lambda pair: (not pair[1].chosen, pair[0], -pair[1].row.since))
    return (considered for _, considered in ordered)


def _compare(bound: Address, place: Address) -> tuple[int, str]:
    """The distance of a bound conversation from another one, and the difference; 0: the same."""
    if same_place(bound, place):
        return 0, ""
    if bound.channel != place.channel:
        return 5, "another platform"
    if bound.account.lower() != place.account.lower():
        return 4, "same platform, another account"
    if hangs_under(place, bound):
        return 1, "its parent: a binding does not cover the threads below"
    if hangs_under(bound, place):
        return 1, "a thread of it: the binding covers only that thread"
    if same_place(*(msgspec.structs.replace(address, thread=None) for address in (bound, place))):
        return 2, "same conversation, another thread"
    return 3, "same account, another conversation"


def _no_longer(row: BindingRow, standing: Standing) -> str:
    reason = f": {row.reason}" if row.reason else ""
    if standing is Standing.EXPIRED:
        return f"the same place, but its deadline passed at {seconds(row.expires_at or 0.0)}: it does not route"
    if standing is Standing.ENDING:
        return f"the same place, but it is ending and takes nothing new{reason}"
    return f"the same place, but it ended at {seconds(row.ended_at or 0.0)}{reason}"


def read_place(places: Places, text: str) -> Address:
    """Parse the name or the ids of a conversation.

    ``#ops``, ``ops/deploy``, ``#ops ▸ deploy``, ``discord/ops/deploy``, ``deploy`` if only one place has that name;
    ``discord:main/501`` and ``discord:main/501/601``. Raises `UsageError` with the names that exist.
    """
    wanted = _plain(text)
    if not wanted:
        raise UsageError("name a conversation: its name in this run, or channel:account/conversation[/thread]")
    known = places.in_order()
    for full in (True, False):
        found = [place for place in known if wanted in _names(places, place, full=full)]
        if len(found) == 1:
            return found[0].address
        if found:
            several = ", ".join(places.label(place.address) for place in found)
            raise UsageError(f"{count(len(found), 'place')} have this name: {several}")
    return _by_ids(places, text.strip(), wanted)


def _plain(text: str) -> str:
    parts = text.replace("▸", UNDER).replace(">", UNDER).lower().split(UNDER)
    return UNDER.join(part.strip().lstrip("#@") for part in parts)


def _names(places: Places, place: Place, *, full: bool) -> tuple[str, str]:
    names = (places.label(place.address), str(place.address)) if full else (places.short(place), place.name)
    return _plain(names[0]), _plain(names[1])


def _by_ids(places: Places, text: str, wanted: str) -> Address:
    head, *ids = text.split(UNDER)
    channel, colon, account = head.partition(":")
    if not (colon and channel.strip() and account.strip() and 1 <= len(ids) <= 2 and all(ids)):
        last = wanted.rpartition(UNDER)[2]
        found = [place.address for place in places.in_order() if last and last in _plain(place.name)]
        near = f"; there is {', '.join(map(places.label, found[:3]))}" if found else ""
        raise UsageError(f"no place of this run is named {clean(text)!r}{near}")
    channel, account = channel.strip().lower(), account.strip()
    address = Address(channel=channel, account=account, kind=ChatKind.CHANNEL, conversation=ids[0])
    if len(ids) == 2:
        address = rules_for(channel).thread_on(address, ids[1])
    # If the run knows the place, take its kind and its parent from there.
    return places.of(address).address


def answer(view: RunView, found: Resolution) -> str:
    """The answer in one line: ``resolve discord #ops ▸ deploy → b1 → session …``."""
    asked = f"resolve {found.asked.channel} {title(view.places, found.asked)} → "
    if found.binding is not None:
        return clean(f"{asked}{view.bindings.name(found.binding.id)} → session {found.session_key}")
    session = f"session {found.session_key}" if found.session_key else "no session yet"
    return clean(f"{asked}not bound → default route → {session}")


def resolution_facts(view: RunView, found: Resolution) -> Iterator[Fact]:
    """The answer with its reason and all bindings considered."""
    tone = Tone.GOOD if found.binding is not None else Tone.PLAIN
    yield Fact("answer", answer(view, found), found.seq, tone)
    yield Fact("because", f"{found.because}{f'  #{found.seq}' if found.seq else ''}", found.seq)
    if not found.considered:
        yield Fact("bindings", "none so far", tone=Tone.DIM)
    for number, candidate in enumerate(found.considered):
        mark, tone = ("✓", Tone.GOOD) if candidate.chosen else ("✗", Tone.DIM)
        where = f"{candidate.row.conversation.channel} {title(view.places, candidate.row.conversation)}"
        text = f"{mark} {view.bindings.name(candidate.row.id)} {candidate.standing} {where}: {candidate.why}"
        yield Fact("" if number else "bindings", text, candidate.row.last, tone)


# Why an event did not go to another place: the first condition that excluded that place.
#
# Everything comes from the trace: the candidates of a route and of the binding router, the steps of a completion plan,
# and denied fallbacks. For a place that no decision considered, nothing is reconstructed.

#: bodies that record where something goes
DECISIONS = (RouteDecided, RouterDecided, hands.CompletionPlanned, FallbackDenied)


#: what a decision says of a place, or of something with a name: the condition, and whether it was taken
_Answer = tuple[Address | str | None, str, bool]


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """A place, and what the decisions of an event say about it."""

    name: str
    #: the first condition that excluded it, or why it was taken
    text: str
    taken: bool = False
    #: whether a decision considered it
    considered: bool = True
    #: event of the decision
    seq: int = 0

    @property
    def tone(self) -> Tone:
        return Tone.GOOD if self.taken else Tone.PLAIN if self.considered else Tone.DIM

    @property
    def mark(self) -> str:
        return "✓" if self.taken else "✗" if self.considered else "–"


def decisions_of(view: RunView, seq: int) -> list[Event]:
    """The decisions that led to an event, nearest first, including those of its delegation, intent and inbound."""
    if not 0 < seq <= view.last:
        return []
    event = view.event(seq)
    path = [view.event(step) for step in reversed(view.causes.path(seq))]
    same = (view.of_delegation(event.delegation), view.of_intent(event.intent), view.of_inbound(event.inbound))
    near = (event for events in (path, *same) for event in events)
    return list({event.seq: event for event in near if isinstance(event.body, DECISIONS) and event.seq <= seq}.values())


def why_not(view: RunView, seq: int) -> list[Alternative]:
    """Every place where an event could go: those that a decision considered, then the other places of the run."""
    found: dict[str, Alternative] = {}
    for decision in decisions_of(view, seq):
        for answer in _answers(view, decision):
            found.setdefault(answer.name, answer)
    taken = _destination(view, seq)
    if taken is not None:
        name = view.places.label(taken)
        known = found.get(name)
        text = known.text if known is not None and known.taken else "the event went there"
        found[name] = Alternative(name=name, text=text, taken=True, seq=known.seq if known else seq)
    rest = (view.places.label(place.address) for place in view.places.in_order())
    which = "no decision of this event considered it" if found else "no decision was recorded for this event"
    others = [Alternative(name=name, text=which, considered=False) for name in dict.fromkeys(rest) if name not in found]
    here = view.places.label(taken) if taken is not None else ""
    return [*sorted(found.values(), key=lambda alternative: (alternative.name != here, not alternative.taken)), *others]


def _destination(view: RunView, seq: int) -> Address | None:
    body = view.event(seq).body if 0 < seq <= view.last else None
    if isinstance(body, RouteDecided):
        return body.reply_to
    if isinstance(body, PeerSaid | InboundReceived | RouterDecided | FallbackDenied | hands.CompletionPlanned):
        return None
    address = getattr(body, "address", None)
    return address if isinstance(address, Address) else None


def _answers(view: RunView, event: Event) -> Iterator[Alternative]:
    match event.body:
        case RouterDecided():
            found = _router(view, event.body)
        case hands.CompletionPlanned(steps=steps):
            found = (
                (step.address, f"a step of the plan ({step.mode}), {reason_text(step.reason)}", True) for step in steps
            )
        case RouteDecided():
            found = _route(view, event, event.body)
        case FallbackDenied(refused=refused, reason=reason):
            found = [(refused, f"fallback denied, {reason_text(reason)}", False)]
        case _:
            found = ()
    for place, text, taken in found:
        if place is not None:
            name = place if isinstance(place, str) else view.places.label(place)
            yield Alternative(name=name, text=clean(text), taken=taken, seq=event.seq)


def _router(view: RunView, body: RouterDecided) -> Iterator[_Answer]:
    for candidate in body.candidates:
        text = f"{view.bindings.name(candidate.binding)} {candidate.status}, {reason_text(candidate.reason)}"
        yield candidate.conversation, text, candidate.chosen
    looked_at = {candidate.conversation.lane for candidate in body.candidates}
    decided = f"{body.mode}, {reason_text(body.reason)}"
    if body.conversation is not None and body.conversation.lane not in looked_at:
        yield body.conversation, decided, True
    if body.requester is not None and body.requester.lane not in looked_at and body.mode == "bound":
        yield body.requester, f"requested from there, but the router chose {decided}", False


def _route(view: RunView, event: Event, body: RouteDecided) -> Iterator[_Answer]:
    yield body.reply_to, f"replies go there, {reason_text(body.reply_reason)}", True
    for candidate in body.candidates:
        yield (
            f"route {view.bindings.name(candidate.binding)}",
            f"{candidate.tier}, {reason_text(candidate.reason)}",
            candidate.chosen,
        )
    if body.others:
        text = f"{body.others} more are unrelated to this message: {describe(view, event)}"
        yield "other routes", text, False
