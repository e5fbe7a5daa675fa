"""The model of a try: its answers are those of the cast, its events name what caused them, and faults strike it."""

from collections.abc import Callable

import msgspec

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.attach.play.rest import QuietWire
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.scripted_model import MarkedModel, ScriptedAnswer
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.bot_messages import letters
from trunkline.sim.index.marks import AnswerMark, answers_in, nudged_mark, questions_in, unique_marks, without_marks
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.scenario import AgentRule
from trunkline.sim.scenario.model.steps import ScriptStep
from trunkline.sim.scenario.templates import fill
from trunkline.sim.scenario.text_pattern import text_matches
from trunkline.sim.wire.model.replies import Break, ModelReply, ends_early, fails, never_answers, resets, text_said
from trunkline.sim.wire.model.server import Asked


class ModelSide:
    """The model of a try, as its server calls it. `file`: the scenario as it was written, without marks."""

    def __init__(self, world: World, file: ScenarioFile, profile: GatewayProfile, rest: QuietWire) -> None:
        self._world, self._rest = world, rest
        self._events = world.log.recorder("model")
        self._model = MarkedModel(profile, cast_answers(file))
        #: mark -> where and by which event it was asked
        self._said: dict[str, tuple[Address, int]] = {}
        #: mark of an answer -> the event that it is known by: asked, later answered
        self._answers: dict[AnswerMark, int] = {}
        self._secrets: list[str] = []
        #: the answers in the order in which they were asked for: where, their letters, and their marks
        self._replies: list[tuple[Address | None, str, tuple[AnswerMark, ...]]] = []
        marks = unique_marks(file.say_ids)
        world.faults.is_about_question = lambda name, place, text: marks[name] in self._questions_of(place, text)
        #: requests that are not answered -> the seq of the event, where it was asked, and the marks of the answer
        self._asked: dict[int, tuple[int, Address | None, tuple[AnswerMark, ...]]] = {}
        world.log.subscribe(self._see_said, PeerSaid)

    def _see_said(self, event: Event) -> None:
        assert isinstance(event.body, PeerSaid)
        if event.body.secret:
            self._secrets.append(event.body.secret)
        for mark in questions_in(event.body.text):
            self._said[mark] = event.body.address, event.seq

    def cause_of(self, text: str) -> int | None:
        """The event that caused a request of the gateway with a text: the newest answer in it."""
        return max((self._answers[mark] for mark in answers_in(text) if mark in self._answers), default=None)

    def _questions_of(self, place: Address | None, text: str) -> set[str]:
        """The questions of a text: by marks, or as the beginning of the newest answer in the place."""
        marks = {*(mark.question for mark in answers_in(text)), *questions_in(text)}
        shown = letters(text)
        if marks or not shown or place is None:
            return marks
        for where, answer, found in reversed(self._replies):
            # An edit on Telegram names no topic.
            if where is not None and where.conversation == place.conversation and answer.startswith(shown):
                return {mark.question for mark in found}
        return set()

    def reply(self, asked: Asked) -> ModelReply:
        body = self._model.asked(asked, self._secrets)
        if body.marks and nudged_mark(body.marks[-1]) in self._said:
            # What was asked in another place does not concern the person who writes again here.
            here = self._said[body.marks[-1]][0].lane
            marks = tuple(mark for mark in body.marks if mark in self._said and self._said[mark][0].lane == here)
            body = msgspec.structs.replace(body, marks=marks)
        places = [self._said[mark] for mark in body.marks if mark in self._said]
        place, cause = max(places, key=lambda candidate: candidate[1], default=(None, None))
        body = msgspec.structs.replace(body, origin=place)
        seq = self._events.record(body, cause)
        fault = None if body.beside else self._world.model_fault(place, "\n".join(body.said), seq)
        if fault is None or fault.do == "slow":
            reply = self._model.reply(asked, body)
            if fault is not None:
                reply = msgspec.structs.replace(reply, before=reply.before + fault.for_)
            self._rest.wait_until(self._world.now() + reply.before)
        else:
            reply = struck_reply(fault, body)
        marks = answers_in(text_said(reply))
        self._asked[id(asked)] = seq, place, marks
        self._replies.append((place, letters(text_said(reply)), marks))
        # A gateway that streams sends before the answer is complete.
        self._answers |= dict.fromkeys(marks, seq)
        return reply

    def record_answer(self, asked: Asked, reply: ModelReply) -> None:
        cause, place, marks = self._asked.pop(id(asked), (None, None, ()))
        body = ModelAnswered(status=reply.status, text=text_said(reply), origin=place)
        seq = self._events.record(body, cause)
        self._answers |= dict.fromkeys(marks, seq)


def struck_reply(fault: Fault, body: ModelAsked) -> ModelReply:
    """The reply of a fault instead of the script's.

    It has no generation, because no client receives all of it.
    """
    match fault.do:
        case "rate-limit":
            return fails(429, "Rate limit reached", headers=(("retry-after", f"{max(1, round(fault.for_))}"),))
        case "refuse":
            return fails(fault.status or 400, "The request was refused", code="invalid_request_error")
        case "error":
            return fails(fault.status or 500, "The server had an error")
        case "drop":
            return never_answers()
        case "reset-before":
            return resets()
        case _:
            return ends_early("This answer breaks off in the mid", Break(), stream=body.stream)


def cast_answers(file: ScenarioFile) -> Callable[[str], ScriptedAnswer]:
    """The answers of the cast by the mark of their question: the first rule of the first agent that matches."""
    rules = next(iter(file.scenario.cast.agents.values()), ())
    said = [step for step in file.scenario.script if step.say is not None]
    marks = unique_marks(file.say_ids)
    answers = {marks[name]: _answer(file, rules, step) for name, step in zip(file.say_ids, said, strict=True)}
    return lambda mark: answers.get(mark, ScriptedAnswer())


def _answer(file: ScenarioFile, rules: tuple[AgentRule, ...], step: ScriptStep) -> ScriptedAnswer:
    text = step.say or ""
    for rule in rules:
        when = rule.when
        if (
            (when.text is None or text_matches(when.text, text))
            and when.person in (None, step.as_)
            and (when.place is None or file.resolve(when.place) == file.resolve(step.place or ""))
        ):
            reply = next((did.reply for did in rule.do if did.reply is not None), "")
            return ScriptedAnswer(
                text=without_marks(fill(reply, {"text": text, "peer": step.as_ or ""})),
                wait=sum(did.think or 0.0 for did in rule.do),
                pause=max((did.pause or 0.0 for did in rule.do), default=0.0),
            )
    return ScriptedAnswer()
