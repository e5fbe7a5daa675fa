"""Chat commands to the gateway itself: K1."""

from trunkline.core.events import Event
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.values import ChatKind, IntentKind, WorkKind
from trunkline.sim.events import wire, world
from trunkline.sim.events.hands import AgentAnswered
from trunkline.sim.invariants.base import Checker
from trunkline.sim.invariants.truth.heard_and_answered import is_at_rest

_NAMES = ("focus", "unfocus", "agents", "tasks", "cancel")
#: words of the answers by which a person knows that it was done, or why not
_DENIED, _NONE, _LEFT, _BOUND = "only an owner", "bound to no session", "is left", "belongs to the session"


class CommandsAreObeyed(Checker, symptoms=("unasked",)):
    """K1: Commands are obeyed.

    A command to the gateway gets no agent, and an answer that is so: owners bind and unbind conversations, others
    unbind what they have bound, and lists have what there is, of others only for owners.
    """

    #: channel, conversation and id of a message -> the command
    _given: dict[tuple[str, str, str], Event] = {}
    _answered: set[int] = set()

    def on_said(self, event: Event, body: world.PeerSaid) -> None:
        config, text = self.run.config, body.text.strip()
        if text[:1] != "/" or config is None or not config.control.enabled or body.bot or body.echo_of:
            return
        word, _, bot = text.partition(" ")[0].lower().partition("@")
        names = [name.lower() for name in config.control.names]
        if word[1:] in _NAMES and (not bot or not names or bot in names):
            self._given[body.address.channel, body.address.conversation, body.message_id] = event

    def on_agent(self, event: Event, body: AgentAnswered) -> None:
        command = self._command(self.run.hands.work_of.get(event.turn or ""))
        if command is not None and body.work is WorkKind.MESSAGE:
            self._accuse(event, command, f"agent {body.agent} gets it", "the gateway's own answer")

    def _command(self, inbound: str | None) -> Event | None:
        lane, message = self.run.messages.get(inbound or "", (("", "", "", ""), ""))
        return self._given.get((lane[0], lane[2], message))

    def on_accepted(self, event: Event, body: wire.WireAccepted) -> None:
        facts = self.run.intents.get(event.intent or "") if self._given else None
        command = None if facts is None else self._command(facts.prepared.inbound)
        if facts is None or command is None or body.chunk or command.seq in self._answered:
            return
        if facts.body.intent_kind is IntentKind.NOTICE:
            return  # of an answer that did not arrive, or may not have: W1
        self._answered.add(command.seq)
        self.exercised += 1
        said, config = command.body, self.run.config
        assert isinstance(said, world.PeerSaid)
        assert config is not None
        who = f"{said.address.channel}:{said.peer.id}"
        for wrong in self._wrong(said, facts.body.text, who, command, owner=who in config.control.owners):
            self._accuse(event, command, f"the answer is “{facts.body.text}”", wrong)

    def _wrong(self, said: world.PeerSaid, text: str, who: str, command: Event, *, owner: bool) -> list[str]:
        """The right answers to a command instead of a wrong one; empty: it is right."""
        name, place = said.text.strip().split()[0].lower()[1:].partition("@")[0], said.address
        known = list(self.run.bindings.by_id.values())
        bound = self.run.bindings.holding(place, command.seq)
        if name == "focus":
            took = any(f.bound.seq > command.seq and f.body.by == who for f in known)
            right = (_DENIED in text) is not owner and (_BOUND in text) is took and (owner or not took)
            return [] if right else ["bound by an owner, and refused to others"]
        if name == "unfocus":
            may = bound is not None and (owner or bound.body.by == who)
            wanted = _NONE if bound is None else _LEFT if may else _DENIED
            return [] if wanted in text else [f"“… {wanted} …”"]
        if name == "agents":
            every = [str(f.body.conversation) for f in known if f.ended is None and f.ending is None]
            here = [] if bound is None else [str(bound.body.conversation)]
            shown = every if owner else here
            lines = [line for line in text.splitlines() if line.lstrip("\\").startswith("*")]
            marked = [own for own in every if any(f"{own} " in line for line in lines)]
            others = [own for own in every if own not in shown and f"{own} " in text]
            right = all(f"{own} " in text for own in shown) and not others and marked == here
            return [] if right else [f"the bindings {', '.join(shown) or 'none'}, with a mark for this one"]
        if name == "tasks":
            return self._wrong_tasks(said, text, owner=owner)
        return []

    def _wrong_tasks(self, said: world.PeerSaid, text: str, *, owner: bool) -> list[str]:
        """The open delegations that a list lacks, and those that are not for this person."""
        wrong: list[str] = []
        for name, run in self.run.hands.runs.items():
            stored = run.stored
            origin = self.run.request_of(name)
            if not isinstance(stored, DelegationAccepted) or run.finished is not None or run.parent or origin is None:
                continue
            asked = getattr(origin.body, "peer", None)
            here = getattr(origin.body, "address", said.address).conversation == said.address.conversation
            mine = here and asked is not None and asked.id == said.peer.id
            may = mine or (owner and (here or said.address.kind is ChatKind.DIRECT))
            if (name in text) is not may:
                wrong.append(f"{name} is {'listed' if may else 'not listed'}")
        return wrong

    def finish(self, last: Event) -> None:
        """Report the commands without an answer."""
        for command in self._given.values() if is_at_rest(last) else ():
            by_hook = f"{command.inbound}.reply" in {*self.run.speech.withdrawn, *self.run.speech.rewritten}
            had_time = self.run.processes.had_time(command.at)
            if not by_hook and command.seq not in self._answered and had_time:
                self._accuse(last, command, "nobody answers it", "an answer in its place")

    def _accuse(self, event: Event, command: Event, what: str, expected: str) -> None:
        said = command.body
        assert isinstance(said, world.PeerSaid)
        what = f"{said.peer.id} says “{said.text}” at {self.run.name(said.address)}, and {what}"
        self.accuse(event, what, expected, command, missing=command)
