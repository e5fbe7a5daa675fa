"""Polls in the form of Matrix (MSC3381): a start event, and responses to the poll. Pure.

The unstable names are sent, because that is what clients show; both are read.
"""

from collections.abc import Iterable

from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_texts
from trunkline.core.errors import Refused
from trunkline.core.values import Poll

POLL_START = "org.matrix.msc3381.poll.start"
POLL_RESPONSE = "org.matrix.msc3381.poll.response"
POLL_ENDS = ("m.poll.end", "org.matrix.msc3381.poll.end")
_STARTS = ("m.poll.start", "m.poll", POLL_START)
_RESPONSES = ("m.poll.response", POLL_RESPONSE)
_TEXT = "org.matrix.msc1767.text"
_TEXTS = ("m.text", _TEXT, "body")
#: whether votes are visible before the end
_OPEN, _CLOSED = "org.matrix.msc3381.poll.disclosed", "org.matrix.msc3381.poll.undisclosed"


def poll_content(poll: Poll, text: str) -> Json:
    """The content of a start event. `text` is what clients without polls show."""
    return {
        POLL_START: {
            "question": {_TEXT: poll.question, "body": poll.question, "msgtype": "m.text"},
            "kind": _CLOSED if poll.anonymous else _OPEN,
            "max_selections": poll.max_selections,
            "answers": [{"id": str(number), _TEXT: option} for number, option in enumerate(poll.options, 1)],
        },
        _TEXT: text,
        "body": text,
        "msgtype": "m.text",
    }


def response_content(poll_id: str, answers: Iterable[str]) -> Json:
    """The content of a vote. An empty list of answers withdraws the vote."""
    return {"m.relates_to": {"rel_type": "m.reference", "event_id": poll_id}, POLL_RESPONSE: {"answers": list(answers)}}


def poll_text(content: Json) -> str | None:
    """A poll as text: the author's text for clients without polls, else the question and the answers."""
    given = _text(content)
    if given is not None:
        return given
    question, answers, _ = read_poll(content)
    return "\n".join([question, *(f"{number}. {text}" for number, (_, text) in enumerate(answers, 1))]) or None


def read_poll(content: Json) -> tuple[str, list[tuple[str, str]], int]:
    """The question, the answers as id and text, and how many may be chosen; other contents have no answers."""
    start = next((as_object(content[name]) for name in _STARTS if name in content), Json())
    answers: list[tuple[str, str]] = []
    for answer in as_objects(start.get("answers")):
        named = next((answer[key] for key in ("id", "m.id") if isinstance(answer.get(key), str)), "")
        if named:
            answers.append((named, _text(answer) or named))
    limit = start.get("max_selections", 1)
    return _text(as_object(start.get("question"))) or "", answers, limit if isinstance(limit, int) and limit > 0 else 1


def read_response(content: Json) -> list[str]:
    """The ids of the chosen answers."""
    stable = content.get("m.selections")
    for name in _RESPONSES:
        if name in content:
            stable = as_object(content[name]).get("answers")
    return as_texts(stable)


def chosen_answers(content: Json, wanted: Iterable[object]) -> list[str]:
    """The ids of the answers meant by text, or by number from 1. Raises `Refused`."""
    _, answers, limit = read_poll(content)
    if not answers:
        raise Refused("the message has no poll")
    ids: list[str] = []
    for choice in wanted:
        text = str(choice)
        found = next((named for named, label in answers if label == text), None)
        if found is None and text.isascii() and text.isdecimal() and 1 <= int(text[:4]) <= len(answers):
            found = answers[int(text[:4]) - 1][0]
        if found is None:
            raise Refused(f"the poll has no option {text!r}")
        ids.append(found)
    if len(set(ids)) > limit:
        raise Refused(f"at most {limit} options can be chosen")
    return sorted(set(ids), key=[named for named, _ in answers].index)


def count_votes(content: Json, responses: Iterable[tuple[str, Json]]) -> tuple[Json, dict[str, tuple[str, ...]]]:
    """The results of a poll, from the responses in order, each with the sender: the last response of each counts.

    Returns the fields of the answer, and who voted for what.
    """
    question, answers, limit = read_poll(content)
    texts = dict(answers)
    latest: dict[str, tuple[str, ...]] = {}
    for sender, response in responses:
        ids = tuple(dict.fromkeys(answer for answer in read_response(response) if answer in texts))[:limit]
        latest[sender] = tuple(texts[answer] for answer in ids)
    votes = {sender: chosen for sender, chosen in latest.items() if chosen}
    options = [{"text": text, "votes": sum(text in chosen for chosen in votes.values())} for _, text in answers]
    return {"question": question, "options": options, "voters": len(votes)}, votes


def _text(value: Json) -> str | None:
    for name in _TEXTS:
        found = value.get(name)
        if isinstance(found, str):
            return found
        for form in as_objects(found)[:1]:
            if isinstance(form.get("body"), str):
                return form["body"]
    return None
