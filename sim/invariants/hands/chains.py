"""Turns that follow from each other without a person come to an end: C10."""

from dataclasses import dataclass, field

from trunkline.core.events import Event, gateway
from trunkline.core.values import WorkKind
from trunkline.sim.events.hands import AgentDelegated
from trunkline.sim.events.world import USUAL_CHAIN, PeerSaid
from trunkline.sim.invariants.base import Checker, cited


@dataclass(slots=True)
class _Talk:
    """The turns of a session that bots have started one after the other, by the messages of these."""

    turns: dict[str, Event] = field(default_factory=dict[str, Event])
    last: float = 0.0


class ChainsEnd(Checker):
    """C10: what nobody asked for goes on no longer than is configured."""

    title = "Chains end"
    sentence = (
        "No more turns follow from each other than are configured, unless a person writes: an agent that delegates "
        "each result again is refused at last, and bots that answer each other are not heard any more."
    )

    #: ids of what bots have said
    _by_bots: set[str] = set()
    _talks: dict[str, _Talk] = {}

    def on_delegated(self, event: Event, _body: AgentDelegated) -> None:
        """Count the results, each of which was delegated again, down to this task."""
        hands, limits = self.run.hands, self.run.limits
        if event.delegation is None or limits is None or (event.turn or "") not in hands.got:
            return
        self.exercised += 1
        longest, _ = limits.chain or USUAL_CHAIN
        below = [run for run in hands.chain(event.delegation) if run.turn in hands.got]
        if len(below) == longest:
            # The turn of its result will be one too many.
            self._report(event, longest, [run.given[0] for run in below[::-1] if run.given])

    def on_said(self, event: Event, body: PeerSaid) -> None:
        if body.bot and body.stands_for is None:
            self._by_bots.add(event.inbound or "")
        elif body.echo_of is None:
            # Of which session the person's place is depends on the configuration: each counts as theirs.
            self._talks.clear()

    def on_turn(self, event: Event, body: gateway.TurnStarted) -> None:
        """Count the turns that bots have started in a session since a person wrote."""
        limits, inbound = self.run.limits, event.inbound or ""
        if limits is None or body.work is not WorkKind.MESSAGE or inbound not in self._by_bots:
            return
        self.exercised += 1
        (longest, pause), talk = limits.chain or USUAL_CHAIN, self._talks.setdefault(body.session_id, _Talk())
        if event.at - talk.last > pause:
            talk.turns.clear()
        talk.turns.setdefault(inbound, event)
        talk.last = event.at
        if len(talk.turns) == longest + 1 and talk.turns[inbound] is event:
            self._report(event, longest, list(talk.turns.values()))

    def _report(self, event: Event, most: int, turns: list[Event]) -> None:
        summary = f"{most + 1} turns have followed from each other, and no person has written"
        shown = [cited(turns[0], "the first"), cited(turns[-1], "the last")] if turns else []
        self.accuse(event, summary, f"an end after {most}, or a message of a person", *turns, shown=shown)
