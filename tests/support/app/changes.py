"""A run made by hand in which sessions move, are left and begin anew, and clients send: see `_traces`."""

from tests.support.app.author import ANA, BO, DM, KEYS, OPS, Author, telegram_dm
from tests.support.app.traces import verdicts
from trunkline.app.runs.model import Run
from trunkline.core.events import Body
from trunkline.core.events.delivery import (
    IntentPrepared,
    IntentSettled,
    MirrorAppended,
    SendJoined,
    SendRefused,
    SendRequested,
    TargetResolved,
)
from trunkline.core.events.gateway import (
    ConfigReloaded,
    InboundAdmitted,
    InboundReceived,
    RouteDecided,
    SessionCreated,
    SessionLeft,
    SessionMoved,
    SessionReset,
    SessionShared,
    TranscriptAppended,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid

ANAS = telegram_dm("9001")
MAIN = "jeeves:main"
BOS = KEYS[DM]
#: the session that Ana's conversation has in the end
OWN = "jeeves:telegram:main:direct:9001"
FIRST, SECOND = "s-first", "s-second"


def changed_sessions() -> Run:
    """Ana and Bo share the main session until a reload; Bo's is reset; a client sends twice with one key."""
    author = Author()
    author.world([(OPS, "#ops", None), (DM, "@bo", None), (ANAS, "@ana", None)])
    author.wait(0.1)
    shared(author)
    author.wait(1.0)
    author.gateway.record(
        ConfigReloaded(revision=2, changed=("session",), dm_scope="per-account-channel-peer", group_scope="per-group")
    )
    author.wait(1.0)
    parted(author)
    author.wait(1.0)
    reset(author)
    author.wait(1.0)
    client(author)
    author.wait(1.0)
    author.rest()
    return Run(trace=author.trace("sessions-change", title="Sessions move and begin anew"), verdicts=verdicts())


def talk(
    author: Author, place: Address, peer: Peer, text: str, key: str, session: str = FIRST, *, before: Body | None = None
) -> None:
    """Somebody speaks and is answered, in the session that a key has."""
    message, inbound, turn, intent = (author.id(name) for name in ("message", "inbound", "turn", "intent"))
    said = author.platform(place).record(PeerSaid(address=place, peer=peer, message_id=message, text=text))
    received = author.gateway.record(
        InboundReceived(address=place, peer=peer, message_id=message, text=text), said, inbound=inbound
    )
    route = author.gateway.record(
        RouteDecided(
            agent="jeeves",
            session_key=key,
            matched_by="default",
            binding=None,
            candidates=(),
            reply_to=place,
            reply_reason=Reason.REPLY_TO_ORIGIN,
        ),
        received,
        inbound=inbound,
    )
    if before is not None:
        author.gateway.record(before, route)
    admitted = author.gateway.record(
        InboundAdmitted(work=WorkKind.MESSAGE, session_id=session, session_key=key), route, inbound=inbound
    )
    author.gateway.record(
        TranscriptAppended(session_id=session, session_key=key, role="user", text=text), admitted, inbound=inbound
    )
    started = author.gateway.record(
        TurnStarted(agent="jeeves", session_id=session, session_key=key, work=WorkKind.MESSAGE, origin=place),
        admitted,
        inbound=inbound,
        turn=turn,
    )
    answer(author, place, f"re: {text}", key, session, started, intent=intent, inbound=inbound, turn=turn)


def answer(
    author: Author, place: Address, text: str, key: str, session: str, cause: int | None, **ids: str | None
) -> None:
    """Something is said, accepted and mirrored."""
    prepared = author.gateway.record(
        IntentPrepared(
            intent_kind=IntentKind.REPLY,
            address=place,
            targeted=False,
            text=text,
            chunks=1,
            key="k",
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key=key,
        ),
        cause,
        **ids,
    )
    author.wait(0.01)
    wire = author.platform(place).record(
        WireAccepted(
            address=place, requested=place, text=text, provider_id=author.id("message"), key="k", chunk=0, attempt=1
        ),
        prepared,
        **ids,
    )
    author.gateway.record(MirrorAppended(session_id=session, session_key=key, text=text), wire, **ids)
    settled = IntentSettled(state=IntentState.DELIVERED, reason=Reason.ACCEPTED, attempts=1)
    author.gateway.record(settled, wire, **ids)


def created(key: str, session: str, place: Address) -> SessionCreated:
    return SessionCreated(
        agent="jeeves", session_key=key, session_id=session, generation=1, address=place, by="inbound"
    )


def shared(author: Author) -> None:
    talk(author, DM, BO, "I am Bo", MAIN, before=created(MAIN, FIRST, DM))
    stranger = SessionShared(session_key=MAIN, reason=Reason.SHARED_MAIN, peer=ANA, people=2)
    talk(author, ANAS, ANA, "I am Ana", MAIN, before=stranger)


def parted(author: Author) -> None:
    left = SessionLeft(old_key=MAIN, old_session_id=FIRST, session_key=OWN, reason=Reason.SCOPE_CHANGED)
    talk(author, ANAS, ANA, "who am I?", OWN, "s-own", before=left)
    moved = SessionMoved(old_key=MAIN, session_key=BOS, session_id=FIRST, reason=Reason.SCOPE_CHANGED)
    talk(author, DM, BO, "and who am I?", BOS, before=moved)


def reset(author: Author) -> None:
    author.gateway.record(SessionReset(session_key=BOS, session_id=SECOND, generation=2, before=FIRST))
    talk(author, DM, BO, "hello again", BOS, SECOND)
    answer(author, DM, "sent before the reset", BOS, FIRST, None, intent=author.id("intent"))


def client(author: Author) -> None:
    asked = SendRequested(key="news-1", channel="discord", target="channel:501", session_key=None, text="news")
    first = author.gateway.record(asked)
    again = author.gateway.record(asked)
    author.gateway.record(SendJoined(key="news-1", reason=Reason.IDEMPOTENT_REPEAT, ended=False), again)
    author.gateway.record(
        TargetResolved(
            channel="discord",
            target="channel:501",
            address=OPS,
            session_key=KEYS[OPS],
            steps=("'channel:501' is a channel", "mirrored into the session of that place"),
        ),
        first,
    )
    author.gateway.record(created(KEYS[OPS], "s-ops", OPS), first)
    answer(author, OPS, "news", KEYS[OPS], "s-ops", first, intent=author.id("intent"))
    wrong = author.gateway.record(
        SendRequested(key="news-2", channel="discord", target="501", session_key=None, text="more news")
    )
    author.gateway.record(
        SendRefused(key="news-2", reason=Reason.AMBIGUOUS_TARGET, detail="write user:501 or channel:501"), wrong
    )
