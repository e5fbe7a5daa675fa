"""A small chat gateway in one file of the standard library, between Telegram and an OpenAI-compatible model.

    TELEGRAM_BOT_TOKEN=... OPENAI_BASE_URL=http://127.0.0.1:8000/v1 python gateway.py

It promises what Telegram allows. Each message gets one turn. An answer is stored before it is sent; what certainly was
not done is done again, and what is in doubt is not: then the asker gets a notice, as of everything that goes wrong.
``TELEGRAM_API_ROOT``, ``OPENAI_API_KEY``, ``OPENAI_MODEL`` and ``TOY_STATE`` (a file) have defaults. ``TOY_STREAM=1``
shows answers while they grow. ``TOY_DEFECTS=a,b`` switches mistakes on, which are natural ones: see ``DEFECTS``.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from textwrap import wrap
from typing import Any
from urllib.parse import urlsplit

TELEGRAM = os.environ.get("TELEGRAM_API_ROOT", "https://api.telegram.org")
TOKEN = os.environ.get("TELEGRAM_BOT_TOKEN", "")
MODEL_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
STREAM = os.environ.get("TOY_STREAM", "") == "1"

#: name -> the mistake
DEFECTS = {
    "resends-after-reset": "takes a connection that broke for a message that was not sent",
    "resends-after-restart": "sends after a restart what was being sent when it was killed",
    "answers-again": "takes a message that is handed out again for a new one",
    "answers-in-last-chat": "keeps the chat to answer in one variable",
    "answers-in-parent": "sends without the topic what was refused because the topic is gone",
    "drops-at-boot": "asks the platform at its start to drop what waits",
    "confirms-first": "confirms a message that it has in memory only",
    "gives-up-silently": "sends no notice when it has given up",
    "greets": "says in each chat that it is back",
    "ignores-retry-after": "tries again at once where the platform asks for a wait",
    "impatient": "asks the model again after a second, and takes the second answer",
    "one-history": "has one history for all chats",
    "in-parallel": "gives each message a thread of its own",
    "repeats-refused": "tries again what was refused for good",
    "posts-final-text": "with TOY_STREAM: posts the final text beside the message that it has edited",
    "stops-editing": "with TOY_STREAM: leaves a message as it is when an edit is refused",
}
ON = frozenset(filter(None, os.environ.get("TOY_DEFECTS", "").split(",")))

RESTARTED = "⚠️ I was restarted while I worked on your message. Please send it again."
IN_DOUBT = "⚠️ I could not find out whether my answer arrived. Please ask again if it did not."
GIVEN_UP = "⚠️ I could not answer a message of yours."
#: attempts at a request; characters of a message
ATTEMPTS, LONGEST = 5, 4000

Job = dict[str, Any]


class NotSentError(Exception):
    """The request certainly has not reached the other side."""


class InDoubtError(Exception):
    """The request may have been carried out."""


class State:
    """The state that outlives the process: a JSON file that is replaced as a whole, whenever the lock is given back."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.RLock()
        empty: dict[str, Any] = {"offset": 0, "seen": [], "jobs": [], "history": {}, "waits": {}, "chats": []}
        self.data = json.loads(path.read_text()) if path.exists() else empty

    def __enter__(self) -> dict[str, Any]:
        self._lock.acquire()
        return self.data

    def __exit__(self, *_: object) -> None:
        try:
            fresh = self._path.with_suffix(".new")
            with fresh.open("w") as file:
                json.dump(self.data, file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
        finally:
            self._lock.release()


state = State(Path(os.environ.get("TOY_STATE", "toy-state.json")))
stopping = threading.Event()
#: jobs that have begun; the lines in which jobs of the same place wait; the last message; when drafts may grow again
busy: set[int] = set()
lines: dict[Any, queue.SimpleQueue[Job]] = {}
last: Job = {}
pace: dict[int, float] = {}


def log(text: str) -> None:
    """Write one line of the log; text from outside never makes another line."""
    print(time.strftime("%H:%M:%S"), ascii(text)[1:-1], file=sys.stderr, flush=True)


def post(url: str, body: Any, seen: Callable[[str], None] | None = None, within: float = 60.0) -> tuple[int, Any]:
    """POST JSON -> status, and the JSON of the response. `seen`: gets each line of a stream instead."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.netloc, timeout=within)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'x')}"}
    try:
        connection.connect()
    except OSError as error:
        raise NotSentError(str(error)) from error
    try:
        connection.request("POST", parts.path, json.dumps(body), headers)
        response = connection.getresponse()
        if seen is not None and response.status == 200:
            for line in response:
                seen(line.decode().strip())
            return 200, {}
        return response.status, json.loads(response.read())
    except (OSError, HTTPException, ValueError) as error:
        raise InDoubtError(f"{type(error).__name__} {error}") from error
    finally:
        connection.close()


def telegram(method: str, within: float = 15.0, **body: Any) -> tuple[int, dict[str, Any]]:
    return post(f"{TELEGRAM}/bot{TOKEN}/{method}", {key: value for key, value in body.items() if value}, within=within)


def failure(error: Exception) -> dict[str, Any]:
    """A call without a response, as one that failed."""
    return {"ok": False, "description": str(error)}


def ask(job: Job, messages: list[Any], show: Callable[[str], None]) -> str:
    """The model's answer; empty if there is none. `show` gets the text as it grows."""
    body = {"model": os.environ.get("OPENAI_MODEL", "m1"), "messages": messages, "stream": STREAM}
    for attempt in range(ATTEMPTS):
        text = ""

        def grow(line: str) -> None:
            nonlocal text
            if line.startswith("data: {") and (choices := json.loads(line[6:]).get("choices")):
                text += choices[0].get("delta", {}).get("content") or ""
                if text:
                    show(text)

        within = 1.0 if "impatient" in ON and attempt == 0 else 60.0
        try:
            status, found = post(f"{MODEL_URL}/chat/completions", body, grow if STREAM else None, within)
            if status == 200:
                return text or (found["choices"][0]["message"]["content"] if found else "")
            log(f"message {job['id']}: the model answers {status}")
            if 400 <= status < 429:
                return ""
        except (NotSentError, InDoubtError) as error:
            log(f"message {job['id']}: the model cannot be asked: {error}")
        time.sleep(0.2 * 2**attempt)
    return ""


def deliver(job: Job, text: str, edit: int | None = None, *, chat: Any = None) -> tuple[str, Any]:
    """Send or edit, again if certainly not done -> ``done`` and the message; ``refused`` or ``doubt`` and why."""
    method, thread = ("editMessageText" if edit else "sendMessage"), None if chat or edit else job["thread"]
    chat, why = chat or job["chat"], ""
    for attempt in range(ATTEMPTS):
        time.sleep(max(0.0, state.data["waits"].get(str(chat), 0) - time.time()))
        try:
            status, found = telegram(method, chat_id=chat, message_thread_id=thread, message_id=edit, text=text)
        except (NotSentError, InDoubtError) as error:
            if isinstance(error, InDoubtError) and not edit and "resends-after-reset" not in ON:
                return "doubt", str(error)
            status, found = 0, failure(error)
        if found.get("ok"):
            return "done", found["result"]["message_id"]
        why = f"{status} {found.get('description')}"
        log(f"message {job['id']}: {method}: {why}")
        if edit and "stops-editing" in ON and "not modified" not in why:
            return "refused", why
        if status == 429 and "ignores-retry-after" not in ON:
            with state as data:
                data["waits"][str(chat)] = time.time() + found["parameters"]["retry_after"] + 0.1
        elif edit and "not modified" in why:
            return "done", edit
        elif thread and "thread not found" in why and "answers-in-parent" in ON:
            thread = None
        elif 400 <= status < 429 and "repeats-refused" not in ON:
            return "refused", why
        else:
            time.sleep(0.2 * 2**attempt)
    return "refused", why


def draft_of(job: Job) -> int | None:
    """The message that shows the answer while it grows, as long as it is no part of the answer yet."""
    return None if job["sent"] else job.get("posted")


def notify(job: Job, notice: str) -> None:
    """Send a notice of what became of a message: where it was said, to its author in private, or in the room."""
    with state:
        job |= {"step": "notice", "notice": notice}
    if "gives-up-silently" in ON and notice == GIVEN_UP:
        return
    outcome, why = deliver(job, notice, draft_of(job))
    if outcome == "doubt" or (outcome == "refused" and draft_of(job)):
        outcome, why = deliver(job, notice)
    for chat in (job["asker"], job["chat"]) if job["thread"] or job["chat"] != job["asker"] else ():
        if outcome == "refused":
            outcome, why = deliver(job, notice, chat=chat)
    if outcome != "done":
        log(f"message {job['id']}: its author got no notice: {why}")


def show_draft(job: Job, text: str) -> None:
    """Show an answer that still grows: post it once, and edit it from then on, not too often."""
    if job.get("draft") or time.time() < pace.get(job["id"], 0):
        return
    pace[job["id"]] = time.time() + 0.3
    outcome, found = deliver(job, text[:LONGEST], job.get("posted"))
    with state:
        if outcome == "done":
            job["posted"] = found
        elif not job.get("posted") or "stops-editing" in ON:
            job["draft"] = outcome


def run(job: Job) -> None:
    """Do what is left of a job, from the step that is stored."""
    place = "all" if "one-history" in ON else f"{job['chat']}/{job['thread']}"
    if job["step"] == "new":
        with state as data:
            job["step"] = "asking"
            said = {"role": "user", "content": job["text"]}
            messages = [*data["history"].get(place, []), said]
        answer = ask(job, messages, lambda text: show_draft(job, text) if STREAM else None)
        with state as data:
            job |= {"step": "ready", "answer": answer}
            if answer:
                data["history"][place] = [*messages, {"role": "assistant", "content": answer}][-20:]
    elif job["step"] == "asking":
        notify(job, RESTARTED)
    elif job["step"] == "sending" and draft_of(job) is None and "resends-after-restart" not in ON:
        notify(job, IN_DOUBT)
    elif job["step"] == "notice":
        notify(job, job["notice"])
    if job["step"] in ("ready", "sending"):
        finish(job)
    with state as data:
        data["jobs"] = [kept for kept in data["jobs"] if kept["id"] != job["id"]]


def finish(job: Job) -> None:
    """Send an answer that is stored, or what is left of it."""
    if job.get("draft") and "stops-editing" in ON:
        return None
    if not job["answer"] or job.get("draft") == "refused":
        return notify(job, GIVEN_UP)
    if job.get("draft") == "doubt":
        return notify(job, IN_DOUBT)
    if "answers-in-last-chat" in ON:
        with state:
            job |= {"chat": last["chat"], "thread": last["thread"]}
    outcome, why = "done", ""
    for part in wrap(str(job["answer"]), LONGEST, replace_whitespace=False)[job["sent"] :]:
        with state:
            job["step"] = "sending"
        outcome, why = deliver(job, part, draft_of(job))
        if outcome != "done":
            break
        with state:
            job |= {"step": "ready", "sent": job["sent"] + 1}
    if outcome == "done" and job.get("posted") and "posts-final-text" in ON:
        deliver(job, job["answer"])
    if outcome == "done" or (job.get("posted") and "stops-editing" in ON):
        return None
    log(f"message {job['id']}: not answered: {why}")
    return notify(job, IN_DOUBT if outcome == "doubt" else GIVEN_UP)


def work(line: queue.SimpleQueue[Job]) -> None:
    while True:
        job = line.get()
        if stopping.is_set():
            return
        busy.add(job["id"])
        run(job)
        busy.discard(job["id"])


def begin(job: Job) -> None:
    """Hand a job to those of its place."""
    place = job["id"] if "in-parallel" in ON else (job["chat"], job["thread"])
    if place not in lines:
        lines[place] = queue.SimpleQueue()
        threading.Thread(target=work, args=(lines[place],), daemon=True).start()
    lines[place].put(job)


def take(update: dict[str, Any]) -> None:
    """Store a message, and begin with it. The next poll confirms it."""
    message: dict[str, Any] = update.get("message", {})
    if "text" not in message or "from" not in message:
        return
    chat, number = message["chat"]["id"], message["message_id"]
    job: Job = {
        "id": update["update_id"],
        "chat": chat,
        "thread": message.get("message_thread_id"),
        "step": "new",
        "sent": 0,
    }
    job |= {"asker": message["from"]["id"], "text": message["text"]}
    with state as data:
        if [chat, number] in data["seen"] and "answers-again" not in ON:
            return
        data["seen"] = [*data["seen"], [chat, number]][-1000:]
        data["chats"] = list(dict.fromkeys([*data["chats"], chat]))
        if "confirms-first" not in ON:
            data["jobs"].append(job)
    last.update(job)
    begin(job)


def stop(*_: object) -> None:
    """End the poll that is going on."""
    stopping.set()
    raise SystemExit(0)


def main() -> None:
    """Go on with what is stored, and take messages, until SIGTERM, which lets jobs end that have begun."""
    for job in list(state.data["jobs"]):
        begin(job)
    for chat in state.data["chats"] if "greets" in ON else ():
        deliver({"id": 0}, "Hello, I am back!", chat=chat)
    while True:
        try:
            status, found = telegram("getUpdates", offset=state.data["offset"], timeout=10, allowed_updates=["message"])
        except (NotSentError, InDoubtError) as error:
            status, found = 0, failure(error)
        if not found.get("ok"):
            log(f"getUpdates: {status} {found.get('description')}")
            time.sleep(0.5)
        for update in found.get("result") or () if found.get("ok") else ():
            take(update)
            with state as data:
                data["offset"] = update["update_id"] + 1


def check() -> str:
    """The reason why the toy cannot run; empty if it can."""
    if ON - set(DEFECTS):
        return f"unknown defects: {', '.join(sorted(ON - set(DEFECTS)))}; there are: {', '.join(DEFECTS)}"
    try:
        status, found = telegram("deleteWebhook", drop_pending_updates="drops-at-boot" in ON)
    except (NotSentError, InDoubtError) as error:
        return f"{TELEGRAM} cannot be reached: {error}"
    return "" if found.get("ok") else f"the token in TELEGRAM_BOT_TOKEN is refused: {status} {found.get('description')}"


if __name__ == "__main__":
    if problem := check():
        sys.exit(f"toy: {problem}")
    signal.signal(signal.SIGTERM, stop)
    try:
        main()
    except SystemExit:
        until = time.time() + 8
        while busy and time.time() < until:
            time.sleep(0.05)
        os._exit(0)
