"""A client for tests: starts `trunkline fakes`, and controls it. It needs nothing but Python's standard library.

with running_fakes("telegram", "model") as fakes:
start_my_bot(base_url=fakes.url("telegram"), token=fakes.token("telegram"))
fakes.say("ana", "telegram/ops", "hello")
[answer] = fakes.wait(1, by="bot", place="telegram/ops")
assert answer["text"] == "hello, ana"
"""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import urlencode

#: seconds that a request may take beyond the time for which it waits
_PATIENCE = 30.0
_ENDING = 10.0


class FakesError(Exception):
    """The fakes have refused a request. `status`: of the response. `problems`: each with `at`, `problem`, `remedy`."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.status = status
        self.problems: list[dict[str, str]] = list(error.get("problems", ()))
        remedies = "; ".join(problem["remedy"] for problem in self.problems if problem["remedy"])
        super().__init__(f"{error.get('message', status)}{f' ({remedies})' if remedies else ''}")


class FakesClient:
    """Controls fakes that run. `url`: the address of their control interface."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        #: what was printed at the start: addresses, tokens, people, places, settings
        self.overview: dict[str, Any] = self.call("GET", "/")

    def url(self, platform: str) -> str:
        """The address of a platform's server."""
        return self.overview["platforms"][platform]["url"]

    def token(self, platform: str, account: str | None = None) -> str:
        """The newest token of an account; by default of the only one, or of that called ``default``."""
        tokens = self.call("GET", "/")["platforms"][platform]["tokens"]
        return tokens[account] if account is not None else tokens.get("default") or next(iter(tokens.values()))

    @property
    def model_url(self) -> str:
        """The base URL of the model: ``http://127.0.0.1:PORT/v1``."""
        return self.overview["model"]["url"]

    @property
    def environment(self) -> dict[str, str]:
        """The secrets, by the names that `accounts` gives them."""
        return self.overview["environment"]

    @property
    def accounts(self) -> list[dict[str, Any]]:
        """The section `accounts` for the file of `trunkline serve`."""
        return self.overview["accounts"]

    def step(self, *steps: Mapping[str, Any]) -> list[str | None]:
        """Play steps of a script, in the words of scenario files. Returns the names of messages, else None."""
        played = self.call("POST", "/steps", list(steps))["played"]
        return [answer.get("message") for answer in played]

    def say(self, person: str, place: str, text: str, **more: Any) -> str:
        """A person says something. Returns the name of the message, for `of` in other steps."""
        [name] = self.step({"as": person, "in": place, "say": text, **more})
        return name or ""

    def press(self, person: str, place: str, button: str, **more: Any) -> None:
        """A person presses a button, named by its text or value."""
        self.step({"as": person, "in": place, "press": button, **more})

    def react(self, person: str, place: str, emoji: str, **more: Any) -> None:
        """A person reacts, by default to the newest message of the bot."""
        self.step({"as": person, "in": place, "react": emoji, **more})

    def edit(self, person: str, place: str, text: str, **more: Any) -> None:
        """A person edits a message of theirs, by default the newest."""
        self.step({"as": person, "in": place, "edit": text, **more})

    def messages(
        self,
        *,
        place: str | None = None,
        by: str | None = None,
        text: str | None = None,
        after: int = 0,
        deleted: bool = False,
    ) -> list[dict[str, Any]]:
        """Messages that people see now. `by`: ``bot``, ``people`` or a person. `text`: with ``*`` for anything."""
        query = _query(**{"in": place}, by=by, text=text, after=after, deleted="true" if deleted else None)
        return self.call("GET", f"/messages?{query}")["messages"]

    def wait(
        self,
        count: int = 1,
        *,
        place: str | None = None,
        by: str | None = None,
        text: str | None = None,
        after: int = 0,
        timeout: float = 10.0,
    ) -> list[dict[str, Any]]:
        """Wait until so many messages are there, and return them all. Raises `TimeoutError` with those that are."""
        query = _query(**{"in": place}, by=by, text=text, after=after, count=count, timeout=timeout)
        try:
            return self.call("GET", f"/messages/wait?{query}", within=timeout + _PATIENCE)["messages"]
        except FakesError as error:
            if error.status != _TIMEOUT:
                raise
            seen = self.messages(place=place, by=by, text=text, after=after)
            raise TimeoutError(
                f"{error}; seen: {[(post['by'], post['place'], post['text']) for post in seen]}"
            ) from None

    def fault(self, on: str, do: str, **more: Any) -> None:
        """Arm a fault, in the words of scenario files. `for_`, `in_` stand for the words that Python has taken."""
        self.call("POST", "/faults", {"on": on, "do": do, **{key.rstrip("_"): given for key, given in more.items()}})

    def faults(self) -> dict[str, list[dict[str, Any]]]:
        """The faults that are `armed`, and those that have `fired`."""
        return self.call("GET", "/faults")

    def heal(self) -> None:
        """Take back every armed fault."""
        self.call("DELETE", "/faults")

    def break_connections(self, platform: str) -> int:
        """Reset every connection to a platform; returns how many there were."""
        return self.call("POST", f"/servers/{platform}/break")["broken"]

    def restart(self, platform: str, down: float = 0.0) -> None:
        """Restart a server on its port; returns when it listens again, after `down` seconds."""
        self.call("POST", f"/servers/{platform}/restart", {"down": down}, within=down + _PATIENCE)

    def rotate(self, platform: str, account: str | None = None) -> str:
        """Replace a token; returns the new one. The old one is refused from now on."""
        return self.call("POST", f"/tokens/{platform}", {"account": account})["token"]

    def answers(self, *answers: Mapping[str, Any]) -> None:
        """Set the next answer of the model: ``{"says": ...}``, ``{"calls": [...]}``, ``{"fails": 429}``."""
        self.call("POST", "/model/answers", list(answers))

    def asked(self, after: int = 0) -> list[dict[str, Any]]:
        """The bodies of the requests to the model, from a number on."""
        return self.call("GET", f"/model/asked?after={after}")["asked"]

    def reset(self) -> None:
        """Begin again: nothing was said, no fault is armed, tokens are the first ones; addresses stay."""
        self.overview = self.call("POST", "/reset")

    def call(self, method: str, path: str, body: object = None, *, within: float = _PATIENCE) -> Any:
        """Make a request to the control interface. Raises `FakesError`."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}{path}", data, sent, method=method)  # noqa: S310 -- of this machine
        try:
            with _OPENER.open(request, timeout=within) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise FakesError(error.code, _error_in(error.read())) from None


#: the status of a wait that was too short
_TIMEOUT = 408
#: no proxy of the environment stands between two programs of one machine
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _query(**given: object) -> str:
    return urlencode({name: value for name, value in given.items() if value is not None})


def _error_in(body: bytes) -> Mapping[str, Any]:
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return {"message": body[:200].decode("utf-8", "replace")}


@contextmanager
def running_fakes(
    *platforms: str,
    world: str | Path | None = None,
    ports: Mapping[str, int] | None = None,
    options: Sequence[str] = (),
) -> Generator[FakesClient]:
    """Fakes in a process of their own, which end with the block.

    `world`: a file, see `trunkline fakes --help`. Raises `RuntimeError` with what the process says if it does not
    start.
    """
    command = [sys.executable, "-m", "trunkline", "fakes", "--json", *options]
    command += ["--platforms", ",".join(platforms)] if platforms else []
    command += [] if world is None else [str(world)]
    for name, port in (ports or {}).items():
        command += ["--port", f"{name}={port}"]
    with TemporaryFile() as wrong:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=wrong)  # noqa: S603 -- our own program
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                process.wait(_ENDING)
                wrong.seek(0)
                raise RuntimeError(f"the fakes did not start: {wrong.read().decode('utf-8', 'replace').strip()}")
            yield FakesClient(json.loads(line)["control"])
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
