"""People see exactly what was said: T2."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.marker import unmarked
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.heartbeat.reply import split_reasoning
from trunkline.core.text.chunking.utf16 import units
from trunkline.core.text.markup import styled
from trunkline.core.text.model_text import read_model_text, split_media, split_reply_tag, without_reasoning
from trunkline.core.values import IntentKind, IntentState, WorkKind
from trunkline.sim.events.actions import AgentActs, WireActed
from trunkline.sim.events.hands import AgentAnswered, AgentSends, HandAnswered, WorkerAnswered
from trunkline.sim.events.script import ClientRequested, HookRewrote
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.invariants.base import Checker, cited

#: a line that opens or closes a block of code, which each part of the block has again
_FENCE_LINE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
#: marks around words that can mean one thing only, and what makes them doubtful
_MARKS = tuple(
    (tag, re.compile(rf"(?<!\S){mark}([A-Za-z][A-Za-z ]*[A-Za-z]){mark}(?![^\s.,])"))
    for tag, mark in (("b", r"\*\*"), ("s", "~~"), ("code", "`"))
)
_MORE_MARKUP = re.compile(r"[\\<>\[\]|]|```|^\s|\n")
#: the end and the beginning of two parts that a word is torn by
_TAIL, _HEAD = re.compile(r"[A-Za-z]+$"), re.compile(r"^[A-Za-z]+")
#: signs between which a text is not cut, or with care
_KEPT_TOGETHER = re.compile(r"[()`]")
#: a link, whose address people see where they point at its words
_HTML_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
#: signs that are markup in one platform and text in another
_MARKUP = str.maketrans("", "", "*_~`|#>[]()\\-+=•–<")
#: what a text of a model has that is not for people: reasoning, reply tags, files
_READ = ("<", "[[", "MEDIA:")
#: an answer that is for nobody begins or ends with a line that is this token, in whatever quotes or marks
_NO_REPLY, _AROUND = "NO_REPLY", " \t\r\u00a0*`~_\"'>.!"
_HAS_MORE = re.compile("|".join(map(re.escape, (*_READ, _NO_REPLY))))
#: turns that no message starts
_TIMED = (WorkKind.HEARTBEAT, WorkKind.CRON)
#: what a heartbeat says if there is nothing to say, as `bare` has it
_BARE_OK = "HEARTBEATOK"


def signs(text: str) -> str:
    """The visible signs of a text, in order."""
    if text.isascii() and text.isprintable():
        return text.replace(" ", "")
    return "".join(sign for sign in unicodedata.normalize("NFC", text) if unicodedata.category(sign)[0] not in "ZC")


def bare(text: str) -> str:
    """The signs of a text that no markup consists of."""
    return signs(_FENCE_LINE.sub("", text).translate(_MARKUP))


def _without_ok(text: str) -> str:
    """The signs of a text of a heartbeat besides its tokens: between which signs one counts is for H1."""
    return bare(_HTML_TAG.sub("", text).replace("&nbsp;", "")).replace(_BARE_OK, "")


class SaidIsSeen(Checker, symptoms=("lost",)):
    """T2: Said is seen.

    What people see of a message is what its agent, client or hand wanted said, after the hooks: no sign of it lost,
    doubled or out of order, its styles and files kept, blanks, marks of context and markup aside, and nothing of an
    answer that is silent; no part is longer than configured, and no word torn without need.

    Costs one comparison of texts for each message that ends, and a length for each accept of an account with a limit.
    """

    def on_accepted(self, event: Event, body: WireAccepted) -> None:
        if body.html is not None and not self._shows(body):
            summary = f"{event.intent} is shown as another text than it has"
            self.accuse(event, summary, f"“{body.text}”", shown=f"shown as “{body.html}”")
        limits = self.run.limits
        if limits is None or not limits.texts:
            return
        place, mark = body.address, len(limits.mark or "") if body.attempt else 0
        for limit in limits.texts:
            if (limit.channel, limit.account) == (place.channel, place.account):
                self.exercised += 1
                if units(body.text) > limit.length + mark:
                    summary = f"{event.intent} has a part of {units(body.text)} characters"
                    expected = f"at most {limit.length}, as configured for {place.channel}:{place.account}"
                    self.accuse(event, summary, expected, shown=f"“{body.text[:60]}…”")

    def _shows(self, body: WireAccepted) -> bool:
        """Whether the HTML of a message shows its text, with its styles."""
        source = body.html or ""
        with_addresses = html.unescape(_HTML_TAG.sub("", _HTML_LINK.sub(r"\2 \1", source)))
        shown = html.unescape(_HTML_TAG.sub("", source))
        if not {bare(shown), bare(with_addresses)} & {bare(body.text), bare(styled(body.text).text)}:
            return False
        if not _HTML_TAG.search(source) and styled(body.text).styles and signs(shown) != signs(body.text):
            return False
        return all(f"<{tag}>{html.escape(words)}</{tag}>" in source for tag, words in _marked(body.text))

    def on_settled(self, event: Event, body: IntentSettled, facts: IntentFacts) -> None:
        if body.state is IntentState.DELIVERED and not facts.vouched and facts.accepts:
            self._judge(event, facts, whole=True)

    def finish(self, last: Event) -> None:
        """Judge the parts of what did not arrive as a whole."""
        if self.run.running and not self.run.speech.known:
            self._off = "not judged: this trace does not say what agents returned"
        for facts in self.run.intents.values():
            ends = (event.body for event in facts.settled)
            done = any(isinstance(body, IntentSettled) and body.state is IntentState.DELIVERED for body in ends)
            if facts.accepts and (not done or facts.vouched):
                whole = len(facts.accepted_chunks) == facts.body.chunks
                self._judge(facts.accepts[-1], facts, whole=whole)

    def on_edited(self, event: Event, body: WireActed, facts: IntentFacts) -> None:
        sources = self.run.speech.edits.get(facts.prepared.turn or "", [])
        if not sources or body.action is not Action.EDIT or body.repeated:
            return
        self.exercised += 1
        changes = self._changes(facts)
        wanted = [text for source in sources for text in self._wanted(source)]
        # What a hook makes of a change counts only if it leaves the change at its place.
        expected = [*wanted, *(change.text for change in changes[-1:])]
        if not _is_any(self._unmarked(body.text), expected):
            summary = f"{event.intent} changes a message to other words than its agent wanted"
            said = " or ".join(f"“{text}”" for text in dict.fromkeys(expected))
            self.accuse(event, summary, said, sources[-1], shown=f"“{body.text}”")

    def _judge(self, event: Event, facts: IntentFacts, *, whole: bool) -> None:
        sources = self._sources(facts)
        if not sources:
            return
        self.exercised += 1
        if whole and self._is_plain(facts, sources[0]):
            return
        parts = self._seen(facts)
        timed = any(isinstance(source.body, AgentAnswered) and source.body.work in _TIMED for source in sources)
        wanted = list(dict.fromkeys(text for source in sources for text in self._wanted(source)))
        torn = _torn(parts, [getattr(source.body, "text", None) or "" for source in sources] if timed else wanted)
        if whole and torn:
            self._misses(event, facts, f"tears the word {torn}", "a cut between words")
        elif whole and facts.body.intent_kind is IntentKind.REPLY:
            wrong = self._files(facts, sources)
            if wrong is not None:
                self._misses(event, facts, f"has the files {wrong[1] or 'none'}", f"the files {wrong[0] or 'none'}")
        read: Callable[[str], str] = _without_ok if timed else str
        changes = self._changes(facts)
        expected = [read(change.text) for change in changes[-1:]] if changes else wanted
        if changes and changes[-1].more:
            expected = [*wanted, *(read(change.text) for change in changes)]
        if changes and not _is_any([read(changes[0].original)], wanted):
            # The hook got other words already.
            expected, wrong = wanted, [changes[0].original]
        elif whole:
            text = "\n".join(parts)
            wrong = [] if _is_any(map(read, self._unmarked(text)), expected) else [text]
        else:
            wrong = [part for part in parts if not _is_within(map(read, self._unmarked(part)), expected)]
        if not wrong:
            return
        said = f"“{expected[-1]}”" if expected else "nothing"
        shown = [cited(facts.accepts[-1], f"“{wrong[0]}” at {self.run.name(facts.body.address)}")]
        summary = f"people see other words of {facts.prepared.intent} than were said"
        causes, first = (*sources, *facts.accepts), facts.prepared.seq
        self.accuse(event, summary, said, *causes, shown=shown, first_wrong=first)

    def _files(self, facts: IntentFacts, sources: list[Event]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The files that an answer names and those that people see, if they differ."""
        if facts.prepared.intent in self.run.speech.withdrawn or any(change.more for change in self._changes(facts)):
            return None
        answers = [body.text for event in sources if isinstance(body := event.body, AgentAnswered) and body.text]
        named = {read_model_text(text).media for text in answers}
        bodies = (event.body for event in facts.accepts)
        accepts = [body for body in bodies if isinstance(body, WireAccepted)]
        seen = tuple(dict.fromkeys(file for body in accepts for file in body.media))
        words = "\n".join(body.text for body in accepts)
        for files in named:
            # Where a platform takes no files, their addresses stand in the text.
            if set(seen) == {file for file in files if file in seen or file not in words}:
                return None
        return (named.pop(), seen) if named else None

    def _misses(self, event: Event, facts: IntentFacts, what: str, expected: str) -> None:
        summary, first = f"{facts.prepared.intent} {what}", facts.prepared.seq
        shown = [cited(facts.accepts[-1], f"at {self.run.name(facts.body.address)}")]
        self.accuse(event, summary, expected, *facts.accepts, shown=shown, first_wrong=first)

    def _is_plain(self, facts: IntentFacts, source: Event) -> bool:
        """Whether it is seen in one part, exactly as it was said, and nothing in it is for the gateway only."""
        seen, said = facts.accepts[0].body, source.body
        assert isinstance(seen, WireAccepted)
        if len(facts.accepts) > 1 or seen.text != getattr(said, "text", None):
            return False
        if isinstance(said, AgentAnswered) and (said.work in _TIMED or not seen.text):
            return False
        return not _HAS_MORE.search(seen.text) and facts.prepared.intent not in self.run.speech.rewritten

    def _sources(self, facts: IntentFacts) -> list[Event]:
        """The events of the cast that wanted it said. Empty: the gateway itself did, or this trace does not know."""
        speech, prepared = self.run.speech, facts.prepared
        match facts.body.intent_kind:
            case IntentKind.REPLY | IntentKind.HEARTBEAT:
                return speech.answers.get(prepared.turn or "", [])
            case IntentKind.TOOL:
                return speech.sends.get(prepared.turn or "", [])
            case IntentKind.ANNOUNCE:
                # What a process that died had not stored is no result yet, and what comes later is none any more.
                results = speech.results.get(prepared.delegation or "", [])
                known = (found for found in results if found.seq < prepared.seq and not self._is_late(found, prepared))
                return [found for found in known if _is_of(found, prepared.generation)]
            case IntentKind.SEND:
                _, asked = self.run.asked.get(prepared.cause or 0, ("", None))
                found = speech.clients.get(asked or 0)
                return [] if found is None else [found]
            case IntentKind.NOTICE | IntentKind.SECOND:
                return []

    def _is_late(self, result: Event, prepared: Event) -> bool:
        """Whether a worker answered after its deadline, so that the result is another one."""
        stored = self.run.hands.run_of(prepared.delegation).stored
        deadline = None if stored is None else stored.deadline
        return isinstance(result.body, WorkerAnswered) and deadline is not None and result.at > deadline

    def _wanted(self, source: Event) -> Iterator[str]:
        """The texts that people, or the first hook, may get of what somebody wanted said."""
        found, body = list(_wanted(source)), source.body
        most = None if self.run.config is None else self.run.config.delivery.max_text
        if most is not None and isinstance(body, HandAnswered | WorkerAnswered):
            # A result beyond the limit is cut visibly, where another text would be refused.
            notes = ((text, f" [cut: {len(text)} characters]") for text in found if len(text) > most)
            found += [text[: max(most - len(note), 0)] + note[:most] for text, note in notes]
        timed = isinstance(body, AgentAnswered) and body.work in _TIMED
        return self._of_heartbeat(body.agent, found) if timed and isinstance(body, AgentAnswered) else iter(found)

    def _changes(self, facts: IntentFacts) -> list[HookRewrote]:
        """The changes of hooks to its text, in order."""
        rewritten = self.run.speech.rewritten.get(facts.prepared.intent or "", ())
        return [event.body for event in rewritten if isinstance(event.body, HookRewrote)]

    def _of_heartbeat(self, agent: str, texts: Iterable[str]) -> Iterator[str]:
        """The texts of a heartbeat or the schedule that people may see, without its tokens."""
        promised = self.run.heartbeats.configured.get(agent)
        prefix = "" if promised is None else _without_ok(promised.prefix)
        yield prefix
        for text in texts:
            reasoning, rest = map(_without_ok, split_reasoning(text))
            for said in (rest, rest.removeprefix(prefix)):
                yield said
                yield prefix + said
                if promised is not None and promised.reasoning:
                    yield reasoning + prefix + said

    def _seen(self, facts: IntentFacts) -> list[str]:
        """The texts that people see of it, part by part. A part that was sent twice counts once."""
        mark, parts = (self.run.limits.mark if self.run.limits is not None else None) or "", dict[int, str]()
        for accept in facts.accepts:
            body = accept.body
            assert isinstance(body, WireAccepted)
            text = body.text or "".join(body.poll[:1])
            parts.setdefault(body.chunk, text.removeprefix(mark) if body.attempt else text)
        return [parts[number] for number in sorted(parts)]

    def _unmarked(self, text: str) -> list[str]:
        """A text as it is, and without the mark of another context; the first and the last part have a half of it."""
        contexts = () if self.run.limits is None else self.run.limits.contexts or ()
        found = [text]
        for agent in contexts:
            before, after = agent.prefix.strip(), agent.suffix.strip()
            found += (unmarked(text, *mark) for mark in ((before, after), (before, ""), ("", after)))
            # A cut may go through the mark.
            found.append(unmarked(signs(text), signs(before), signs(after)))
        return list(dict.fromkeys(found))


def _is_of(result: Event, process: int) -> bool:
    """Whether a result was given to a process. Those of workers outlive it."""
    return not isinstance(result.body, HandAnswered) or result.body.generation == process


def _wanted(source: Event) -> Iterator[str]:
    """The texts that somebody wanted said, as people may read them."""
    body = source.body
    assert isinstance(body, AgentAnswered | AgentSends | AgentActs | ClientRequested | HandAnswered | WorkerAnswered)
    text = body.text
    if text is None or (isinstance(body, AgentAnswered) and (not text or _is_silent(text))):
        return
    if not any(sign in text for sign in _READ):
        yield text
        return
    read = read_model_text(text)
    yield read.text
    yield "\n".join((read.text, *read.media))
    if without_reasoning(text) != text:
        # Whom its reasoning reaches is judged by C9.
        yield split_media(split_reply_tag(text)[0], ())[0]
    if isinstance(body, ClientRequested):
        yield text


def _is_silent(answer: str) -> bool:
    lines = [line for line in (_HTML_TAG.sub(" ", line).strip(_AROUND) for line in answer.splitlines()) if line]
    return bool(lines) and _NO_REPLY in (lines[0], lines[-1])


def _torn(parts: list[str], said: list[str]) -> str:
    """A word that a cut goes through, though the part before it has a blank; empty: none."""
    for before, after in pairwise(parts):
        tail, head = _TAIL.search(before), _HEAD.match(after)
        if not tail or not head or " " not in before.strip() or _KEPT_TOGETHER.search("".join(parts)):
            continue
        between = re.compile(rf"{re.escape(tail[0])}\s+{re.escape(head[0])}")
        if any(f"{tail[0]}{head[0]}" in text for text in said) and not any(map(between.search, said)):
            return f"{tail[0]}-{head[0]}"
    return ""


def _marked(text: str) -> Iterator[tuple[str, str]]:
    """Words in plain marks of a text without any other markup: the tag that shows each, and the words."""
    if not _MORE_MARKUP.search(text):
        for tag, mark in _MARKS:
            yield from ((tag, words) for words in mark.findall(text))


def _is_any(seen: Iterable[str], expected: Iterable[str]) -> bool:
    return any(_is_same(shown, text) for shown in seen for text in expected)


def _is_same(seen: str, said: str) -> bool:
    if signs(seen) == signs(said) or bare(seen) == bare(said):
        return True
    return bare(styled(seen).text) == bare(styled(said).text)


def _is_within(seen: Iterable[str], expected: Iterable[str]) -> bool:
    return any(
        bare(shown) in bare(text) or bare(styled(shown).text) in bare(styled(text).text)
        for shown in seen
        for text in expected
    )
