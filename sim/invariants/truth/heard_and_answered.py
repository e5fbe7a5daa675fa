"""People and programs are heard and answered, and nobody gets errors of the gateway itself: E1, E2, E3, T1 and T6."""

import re
from collections import Counter

from trunkline.core.events import BODIES, Event, base, delivery, gateway
from trunkline.core.reasons import Reason
from trunkline.core.text.model_text import read_model_text
from trunkline.core.values import Address, IntentKind, Peer, WorkKind
from trunkline.sim.events import actions, hands, processes, script, wire, world
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import Lane, RunFacts
from trunkline.sim.invariants.base import Checker, cited
from trunkline.sim.invariants.truth.said_and_seen import bare

#: errors by which code shows that it is wrong; what is refused has an error of its own
_WRONG_CODE = re.compile(
    r"(?:^|: )((?:Attribute|Type|Name|UnboundLocal|Key|Index|Assertion|ZeroDivision|Recursion|NotImplemented)"
    r"Error|ValidationError)\b"
)
_REFUSED = "what was asked for, or a refusal that says what is wrong with it"
#: events of the gateway that say why something did not happen
_SAY_WHY = tuple(
    body
    for _, body in sorted(BODIES.items())
    if body.recorded_by == "gateway" and "detail" in body.__struct_fields__ and body is not gateway.TurnEnded
)
#: ends of a turn that need no agent: it never came to an answer, in any process
_WITHOUT_AGENT = (Reason.RUNS_EXHAUSTED,)


class NoErrorOfItsOwn(Checker, symptoms=("lost",)):
    """E1: No error of its own.

    A turn fails only if its agent did, and whatever a program, a tool, a platform or a process gets as an error is a
    refusal or a failure of somebody else, never an error of the gateway's code.
    """

    def on_answered(self, event: Event, body: hands.AgentAnswered) -> None:
        self._look(event, body.failed, f"a tool of {body.agent} raises")

    def on_told(self, event: Event, body: actions.AgentTold) -> None:
        self.exercised += 1
        if body.status == "raised":
            self.accuse(event, f"the call {body.action} of an agent raises {body.detail}", _REFUSED)

    def on_skipped(self, event: Event, body: script.ScriptSkipped) -> None:
        self._look(event, body.why, f"{body.step} raises")

    def on_crashed(self, event: Event, body: processes.ProcessCrashed) -> None:
        self._look(event, body.why, "the process ends by itself with")

    @on(*_SAY_WHY)
    def _says_why(self, event: Event, body: object) -> None:
        if detail := getattr(body, "detail", ""):
            self._look(event, detail, f"{event.kind} has")

    def _look(self, event: Event, why: str, what: str) -> None:
        if why and _WRONG_CODE.search(why):
            self.accuse(event, f"{what} {why}", _REFUSED)

    def on_ended(self, event: Event, body: gateway.TurnEnded) -> None:
        if self.run.limits is None or not self.run.limits.config or body.outcome != "failed":
            return
        self.exercised += 1
        answers = self.run.speech.answers.get(event.turn or "")
        returned = answers[-1].body if answers else None
        failed = isinstance(returned, hands.AgentAnswered) and (returned.failed or is_too_long(self.run, returned.text))
        if not failed and body.reason not in _WITHOUT_AGENT:
            how = "did not fail" if answers else "was not asked"
            self.accuse(event, f"{event.turn} fails, and its agent {how}: {body.reason} {body.detail}", _REFUSED)


def is_too_long(run: RunFacts, text: str | None) -> bool:
    """Whether a text is longer than the configuration allows any to be."""
    return run.config is not None and len(text or "") > run.config.delivery.max_text


#: how a message to the gateway itself begins
_COMMAND = "/"
#: an answer with this token may be for nobody
_SILENT = "NO_REPLY"
#: what somebody says: a message by its channel, account, conversation and id, or an agent and the words for it
_Said = tuple[str, str, str, str]
#: how lines begin that name a file
_IN_WORDS = ("[", "MEDIA:")


def is_at_rest(last: Event) -> bool:
    """Whether nothing was open at the end. A run that never comes to rest is the business of L1."""
    return isinstance(last.body, base.RunEnded) and last.body.at_rest


class EverybodyIsHeard(Checker, symptoms=("lost",)):
    """E2: Everybody is heard.

    What a person writes, and what a program wakes an agent with, an agent gets, as often as it was said, unless it is
    blank, repeated, or a command, the process ended, or the configuration says otherwise.
    """

    #: what was said and must be heard -> by which events, one for each time
    _said: dict[_Said, list[Event]] = {}
    _heard = Counter[_Said]()
    #: messages that are known already, by account and original id
    _known: set[tuple[str, str, str, str]] = set()
    #: messages that the gateway has taken for good
    _admitted: set[str] = set()
    _reset = False

    def on_pushed(self, event: Event, body: world.PlatformPushed) -> None:
        channel, account, conversation, _ = body.address.lane
        post = self._post(channel, conversation, body.original_id)
        name = (channel, account, conversation, body.original_id)
        if post is None or body.replay or name in self._known or not self._is_for_agents(post):
            return
        self._known.add(name)
        self._said.setdefault(name, []).append(event)

    def _post(self, channel: str, conversation: str, message: str) -> world.PeerSaid | None:
        event = self.run.posts.get((channel, conversation, message))
        return event.body if event is not None and isinstance(event.body, world.PeerSaid) else None

    def _is_for_agents(self, post: world.PeerSaid) -> bool:
        """Whether an agent must get a message. Bots, proxies and accounts that share a room have rules of their own."""
        text, config = post.text.strip(), self.run.config
        # K1 judges commands.
        commands = config is not None and config.control.enabled and text.startswith(_COMMAND)
        if not (text or post.files) or commands or post.bot or post.echo_of or post.stands_for:
            return False
        # A room that is bound through one account is not heard by the others.
        return not self.run.bindings.shared or sum(c == post.address.channel for c, _ in self.run.accounts) == 1

    def on_woken(self, event: Event, body: script.OperatorAsked) -> None:
        config = self.run.config
        if body.what == "wake" and config is not None and any(agent.id == body.agent for agent in config.agents):
            self._said.setdefault((body.agent, "", "", body.text), []).append(event)

    def on_taken(self, event: Event, _body: gateway.InboundAdmitted) -> None:
        self._admitted.add(event.inbound or "")

    def on_forgotten(self, _event: Event, _body: gateway.SessionReset) -> None:
        self._reset = True

    def on_deed(self, _event: Event, body: gateway.DeedReceived) -> None:
        if body.outcome == "withdrawn":
            # E5 judges whether it was deleted in time.
            self._said.pop((*body.address.lane[:3], body.of), None)

    def on_given(self, event: Event, body: hands.AgentAnswered) -> None:
        if body.work is WorkKind.MESSAGE:
            work = self.run.hands.work_of.get(event.turn or "", "")
            lane, message = self.run.messages.get(work, (("", "", "", ""), ""))
            for heard in self._parts_in(body.given, lane, message):
                self._heard[lane[0], lane[1], lane[2], heard] += 1
        elif body.work is WorkKind.WAKE:
            self._heard[body.agent, "", "", body.given] += 1

    def _parts_in(self, given: str, lane: Lane, message: str) -> list[str]:
        """The messages that a text given to an agent has: of an album, those whose words and files it has."""
        act = self.run.act_of(lane, message)
        if act is None:
            return [message]
        posts = self.run.acts[lane[0], lane[2], act]
        return [post.message_id for post in posts if all(word in given for word in (post.text, *post.files))]

    def finish(self, last: Event) -> None:
        """Report what no agent got."""
        judged = is_at_rest(last) and self.run.config is not None and not self._reset
        for said, events in self._said.items() if judged else ():
            self.exercised += len(events)
            unheard = [event for event in events if self.run.processes.had_time(event.at)]
            if unheard and self._heard[said] < len(unheard):
                got, post = self._heard[said], self._post(said[0], said[2], said[3])
                words = said[3] if post is None else post.words
                what = f"“{words}” was said to the gateway {len(events)}×, and an agent got it {got}×"
                self.accuse(last, what, "a turn for it: nothing stopped the gateway", *unheard, missing=unheard[-1])


class AnswersAreSent(Checker, symptoms=("lost",)):
    """E3: Answers are sent.

    What an agent returns for people, in a turn that has a place, is queued for them, unless it is silent, was said by
    its tool in that turn, a hook cancels it, or the process ends.
    """

    #: turns with an answer that is not silent -> the last one
    _answers: dict[str, Event] = {}
    _queued: set[str] = set()

    def on_answered(self, event: Event, body: hands.AgentAnswered) -> None:
        if body.work not in (WorkKind.MESSAGE, WorkKind.CALLBACK) or body.place is None:
            return
        if body.text and _SILENT not in body.text:
            self._answers[event.turn or ""] = event

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        if body.intent_kind in (IntentKind.REPLY, IntentKind.ANNOUNCE):
            self._queued.add(event.turn or "")

    def finish(self, last: Event) -> None:
        """Report unsent answers."""
        cancelled = {event.turn for event in self.run.cancelled.values()}
        for turn, event in self._answers.items() if is_at_rest(last) else ():
            body = event.body
            assert isinstance(body, hands.AgentAnswered)
            if turn in self._queued:
                self.exercised += 1
                continue
            if not bare(read_model_text(body.text or "").text):
                continue
            self.exercised += 1
            if turn in cancelled or not self.run.processes.had_time(event.at) or self._by_tool(turn):
                continue
            if is_too_long(self.run, body.text):
                continue
            what = f"{body.agent} answered {turn}, and its words are queued for nobody"
            wanted = f"“{body.text}” is queued for {self.run.name(body.place)}"
            self.accuse(last, what, wanted, event, missing=event)

    def _by_tool(self, turn: str) -> bool:
        """Whether the agent had the words said by its tool."""
        said = "".join(bare(getattr(sent.body, "text", "")) for sent in self.run.speech.sends.get(turn, ()))
        answer = self._answers[turn].body
        return isinstance(answer, hands.AgentAnswered) and bare(answer.text or "") in said


class InboundIsTruth(Checker, symptoms=("twice", "lost")):
    """T1: Inbound is truth.

    What the gateway receives, and what it gives to an agent as a message, was pushed by the platform: under that id, in
    those words, from that sender, in that place.
    """

    #: channel, account, conversation and id of a delivery -> its push and its post
    _pushed: dict[tuple[str, str, str, str], tuple[Event, Event | None]] = {}
    #: the later words of messages
    _edits: dict[tuple[str, str], set[str]] = {}

    def on_edit(self, _event: Event, body: world.PeerEdited) -> None:
        self._edits.setdefault((body.address.conversation, body.message_id), set()).add(body.text)

    def on_push(self, event: Event, body: world.PlatformPushed) -> None:
        place = body.address
        post = self.run.posts.get((place.channel, place.conversation, body.original_id))
        self._pushed[place.channel, place.account, place.conversation, body.message_id] = (event, post)

    def on_received(self, event: Event, body: gateway.InboundReceived) -> None:
        if not self.run.witnessed:
            return
        self.exercised += 1
        pushed, post = self._origin(body.address, body.message_id)
        if pushed is None:
            summary = f"the gateway received a message that {body.address.channel} has not pushed"
            expected = f"a push of {body.message_id} to {body.address.channel}:{body.address.account}"
            self.accuse(event, summary, expected, shown=f"“{body.text}” at {self.run.name(body.address)}")
        elif post is not None:
            self._compare(event, body.text, body.peer, body.address, (pushed, post))

    def on_given(self, event: Event, body: hands.AgentAnswered) -> None:
        if body.work is not WorkKind.MESSAGE:
            return
        self.exercised += 1
        received = self.run.received.get(self.run.hands.work_of.get(event.turn or "", ""))
        found = None if received is None else received.body
        if not isinstance(found, gateway.InboundReceived):
            summary = f"agent {body.agent} got a message that nobody pushed"
            expected = "a message of a platform before the turn"
            self.accuse(event, summary, expected, shown=f"“{body.given}” by {body.peer.id}")
            return
        pushed, post = self._origin(found.address, found.message_id)
        if pushed is not None and post is not None:
            said = post.body
            edits = self._edits.get((found.address.conversation, getattr(said, "message_id", "")), ())
            given: str = getattr(said, "text", "") if body.given in edits else body.given
            self._compare(event, given, body.peer, body.place, (pushed, post))

    def _origin(self, place: Address, message: str) -> tuple[Event | None, Event | None]:
        """The push of a message, and its post."""
        return self._pushed.get((place.channel, place.account, place.conversation, message), (None, None))

    def _is_in_words(self, said: world.PeerSaid, text: str) -> bool:
        """Whether a text has what a person said with files, in words, and nothing else."""
        place = said.address.channel, said.address.conversation
        posts = self.run.acts.get((*place, said.act or ""), [said])
        words = Counter(line for post in posts for line in post.text.split("\n"))
        left = [*(Counter(text.split("\n")) - words).elements()]
        named = sum(line.startswith("[") for line in left)
        good = named <= sum(len(post.files) for post in posts) and all(line.startswith(_IN_WORDS) for line in left)
        return bool(said.files) and said.text in text and good

    def _compare(self, event: Event, text: str, peer: Peer, place: Address | None, origin: tuple[Event, Event]) -> None:
        """Compare what the gateway has of a message with what was said."""
        pushed, post = origin
        said, at = post.body, pushed.body
        assert isinstance(said, world.PeerSaid)
        assert isinstance(at, world.PlatformPushed)
        if text == said.text and peer == said.peer and place == at.address:
            return
        here = "nowhere" if place is None else self.run.name(place)
        wrong = [
            *([] if text == said.text or self._is_in_words(said, text) else [f"the words “{text}”"]),
            *([] if peer.id == said.peer.id else [f"the sender {peer.id}"]),
            *([] if place is not None and place.lane == at.address.lane else [f"the place {here}"]),
        ]
        if wrong:
            summary = f"{said.message_id} has {' and '.join(wrong)}, which the platform did not push"
            expected = cited(post, f"“{said.text}” by {said.peer.id} at {self.run.name(at.address)}")
            self.accuse(event, summary, expected, post, pushed, shown=f"“{text}” by {peer.id} at {here}")


class AskedAndAnswered(Checker, symptoms=("lost", "unasked")):
    """T6: Asked and answered.

    Each client gets the answer to its request, unless the process that it asked ends before; and each message that
    people see as an answer, a tool send or a client's send was asked for by that agent or that client.
    """

    #: requests of clients without an answer, by their seq
    _open: dict[int, Event] = {}
    #: the processes of the run, by name: with two of them, one stands by and answers nobody
    _processes: set[str] = set()

    def on_process_started(self, event: Event, _body: gateway.ProcessStarted) -> None:
        self._processes.add(event.node)

    def on_requested(self, event: Event, _body: script.ClientRequested) -> None:
        self.exercised += 1
        self._open[event.seq] = event

    def on_answered(self, event: Event, _body: script.ClientAnswered) -> None:
        self._open.pop(event.cause or 0, None)

    def on_process_gone(self, _event: Event, _body: processes.ProcessCrashed | processes.ProcessStopped) -> None:
        """A client whose process has ended has lost its connection, and knows so."""
        self._open.clear()

    def on_accepted(self, event: Event, body: wire.WireAccepted, facts: IntentFacts) -> None:
        if not self.run.speech.known:
            return
        self.exercised += 1
        what = self._unasked(facts)
        if what:
            summary = f"people see {event.intent}, and {what}"
            expected = "somebody who wanted it said"
            seen = f"“{body.text}” at {self.run.name(body.address)}"
            self.accuse(event, summary, expected, facts.prepared, shown=seen, first_wrong=facts.prepared.seq)

    def _unasked(self, facts: IntentFacts) -> str:
        """Why a message is nobody's; empty: somebody wanted it."""
        speech, prepared = self.run.speech, facts.prepared
        match facts.body.intent_kind:
            case IntentKind.REPLY | IntentKind.HEARTBEAT:
                answered = prepared.turn in speech.answers or self._is_command(prepared.inbound)
                return "" if answered else "no agent returned anything in that turn"
            case IntentKind.TOOL if facts.body.action is None:
                return "" if prepared.turn in speech.sends else "no agent asked for it in that turn"
            case IntentKind.SEND:
                _, asked = self.run.asked.get(prepared.cause or 0, ("", None))
                return "" if asked in speech.clients else "no client asked for it"
            case _:
                return ""

    def _is_command(self, inbound: str | None) -> bool:
        """Whether a person gave the gateway itself a command."""
        received = self.run.received.get(self.run.message_behind(inbound))
        body = None if received is None else received.body
        return isinstance(body, gateway.InboundReceived) and body.text.lstrip().startswith(_COMMAND)

    def finish(self, last: Event) -> None:
        """Report the clients that still wait."""
        for asked in self._open.values() if len(self._processes) == 1 else ():
            body = asked.body
            assert isinstance(body, script.ClientRequested)
            summary = f"the client that asked for {body.key} never gets an answer"
            expected = "an answer: delivered, failed, refused, or a preview"
            self.miss(last, asked, summary, expected, shown="asked, and nothing after it")
