"""Requests to the HTTP API of a running gateway with the token of this user, and its errors in one line each."""

import os
import ssl
import weakref
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import quote as quote_word
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

import httpx
import msgspec
from msgspec.structs import fields

from trunkline.app.operators.port import NotPossible, Unavailable
from trunkline.app.serve.state import TOKEN, state_folder
from trunkline.core import VERSION, errors
from trunkline.core.config.base import is_loopback
from trunkline.core.http.endpoint import Verb
from trunkline.core.http.problems import PROBLEM_JSON, TABLE, TYPE, ProblemDocument
from trunkline.core.http.settings import is_token

A = TypeVar("A")
#: the variable that may hold the token
VARIABLE = "TRUNKLINE_TOKEN"
#: characters of a token
_LONGEST = 4096
#: seconds to connect, and to wait for an answer: a change of the whole queue takes a while
_CONNECT, _ANSWER = 5.0, 120.0
#: bytes of an answer
_MOST = 256 * 2**20
#: characters of a stranger's words
_SHOWN = 300
_REFUSED = (errors.IllegalTransition, errors.AnswerRefused, errors.BindingError)


class HttpClient:
    """Asks one gateway (see `Operator`). Every error is a `UsageError`, or for a change that was refused `NotPossible`.

    Raises `UsageError` for what is no address, and for an unusable token.
    """

    acts_at_once = True

    def __init__(self, url: str, token_file: Path | None) -> None:
        self.url = _checked(url)
        self._token_file = token_file
        host = self.url.host
        self._token = token_for(host, token_file)
        headers = {"Accept": "application/json"}
        if self._token.secret:
            headers["Authorization"] = f"Bearer {self._token.secret}"
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(_ANSWER, connect=_CONNECT),
            # A redirect would give the token to somebody else.
            follow_redirects=False,
            trust_env=not is_loopback(host),
            verify=ssl.create_default_context(),
        )
        weakref.finalize(self, self._client.close)

    @property
    def option(self) -> str:
        token = "" if self._token_file is None else f" --token-file {quote_word(str(self._token_file))}"
        return f"--url {quote_word(str(self.url))}{token}"

    def ask(self, verb: Verb[A], given: msgspec.Struct | None = None, **path: str) -> A:
        target = verb.path.format(**{name: _segment(name, value) for name, value in path.items()})
        query = {} if given is None or verb.query is None else _parameters(given)
        content = None if given is None or verb.body is None else msgspec.json.encode(given)
        return self._decoded(self._request(verb.method, target, query, content), verb.answer, target)

    def _request(self, method: str, path: str, query: Mapping[str, Any], content: bytes | None) -> bytes:
        changes = method != "GET"
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            # Appended as it is: joining would decode what stands for a slash in a name.
            target = f"{self._name}{path}"
            with self._client.stream(method, target, params=query or None, content=content, headers=headers) as found:
                answer = self._read(found)
                if found.is_success:
                    return answer
                self._raise(found, answer, path, changes=changes)
        except httpx.TimeoutException as error:
            raise errors.UsageError(self._timed_out(error, changes=changes)) from error
        except httpx.TransportError as error:
            raise errors.UsageError(self._unreachable(error)) from error
        except (httpx.InvalidURL, httpx.HTTPError) as error:
            raise errors.UsageError(f"{self._name}: {_short(str(error))}") from error

    @contextmanager
    def stream(
        self, path: str, query: Mapping[str, str], headers: Mapping[str, str], *, silence: float
    ) -> Generator[httpx.Response]:
        """A stream of events, which says something at least every `silence` seconds.

        Raises `Unavailable` for what may pass, and where the stream breaks off.
        """
        timeout = httpx.Timeout(silence, connect=_CONNECT)
        given = {"Accept": "text/event-stream", **headers}
        try:
            with self._client.stream(
                "GET", f"{self._name}{path}", params=dict(query) or None, headers=given, timeout=timeout
            ) as found:
                if not found.is_success:
                    self._refuse_stream(found, path)
                yield found
        except httpx.TimeoutException as error:
            late = f"{self._name} has said nothing for {silence:g}s"
            said = self._timed_out(error, changes=False) if isinstance(error, httpx.ConnectTimeout) else late
            raise Unavailable(said) from error
        except httpx.TransportError as error:
            raise Unavailable(self._unreachable(error)) from error

    def _refuse_stream(self, found: httpx.Response, path: str) -> NoReturn:
        try:
            self._raise(found, self._read(found), path, changes=False)
        except errors.UsageError as error:
            if found.status_code in (429, 502, 503, 504):
                raise Unavailable(error.facts) from error
            raise

    @property
    def _name(self) -> str:
        return str(self.url).rstrip("/")

    def _read(self, found: httpx.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in found.iter_bytes():
            size += len(part)
            if size > _MOST:
                raise errors.UsageError(f"{self._name}: its answer is longer than {_MOST // 2**20} MiB")
            parts.append(part)
        return b"".join(parts)

    def _decoded(self, content: bytes, type_: type[A], path: str) -> A:
        try:
            return msgspec.json.decode(content, type=type_)
        except msgspec.ValidationError as error:
            raise errors.UsageError(
                f"{self._name}: its answer to {path} is not what Trunkline {VERSION}"
                f" expects ({_short(str(error))}): use the version of the gateway{self._version()}"
            ) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise errors.UsageError(
                f"{self._name} is no Trunkline gateway, or something between cuts its answers: {error}"
            ) from error

    def _version(self) -> str:
        """The gateway's version, as far as it says so."""
        try:
            found = self._client.get(f"{self._name}/openapi.json")
            return f", {_short(str(found.json()['info']['version']))}"
        except Exception:  # noqa: BLE001 -- it only makes an error clearer
            return ""

    def _raise(self, found: httpx.Response, content: bytes, path: str, *, changes: bool) -> NoReturn:
        problem = _problem_of(found, content)
        if problem is None:
            raise errors.UsageError(self._stranger(found))
        slug, detail = problem.type.removeprefix(TYPE), _short(problem.detail)
        if problem.status == 401:
            raise errors.UsageError(self._unauthorized())
        if slug == "missing-scope":
            source = f"the token of {self._token.source}" if self._token.source else "the token"
            raise errors.UsageError(f"{source} lacks the scope {problem.scope or '?'}, which this needs")
        if slug in ("not-found", "method-not-allowed"):
            ours = f"Trunkline {VERSION} asks for {path}"
            raise errors.UsageError(
                f"{self._name} has no such address; {ours}: use the gateway's version{self._version()}"
            )
        error = _error_of(slug, problem.detail)
        if changes and (isinstance(error, _REFUSED) or problem.status == 503):
            raise NotPossible(_short(error.facts if isinstance(error, _REFUSED) else problem.detail))
        if isinstance(error, errors.UsageError):
            raise error
        said = f"{self._name}: {detail}"
        raise errors.UsageError(
            said if problem.status < 500 or not problem.request_id else f"{said} (request {problem.request_id})"
        )

    def _unauthorized(self) -> str:
        if self._token.source:
            return f"{self._name} does not accept the token of {self._token.source}"
        return f"{self._name} wants a token: name its file with --token-file, or set {VARIABLE}"

    def _stranger(self, found: httpx.Response) -> str:
        if found.is_redirect:
            to = _short(found.headers.get("location", "elsewhere"))
            return f"{self._name} points to {to}: give that address, if it is the gateway"
        kind = _short(found.headers.get("content-type", "no type").partition(";")[0])
        return f"{self._name} is no Trunkline gateway: it answers {found.status_code} and {kind}"

    def _timed_out(self, error: httpx.TimeoutException, *, changes: bool) -> str:
        if isinstance(error, httpx.ConnectTimeout):
            return f"cannot connect to {self._name} within {_CONNECT:g}s"
        unsure = "; it may have been done all the same: look before you repeat it" if changes else ""
        return f"{self._name} has not answered within {_ANSWER:g}s{unsure}"

    def _unreachable(self, error: httpx.TransportError) -> str:
        said = _short(str(error)) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in said:
            why = said.rpartition("verify failed: ")[2].partition(" (")[0]
            return f"{self._name}: its certificate is not trusted ({why}); SSL_CERT_FILE can name one that is"
        if "SSL" in said:
            return f"{self._name} speaks no TLS that fits ({said}); is it http:// instead of https://?"
        if isinstance(error, httpx.ConnectError):
            return f"cannot connect to {self._name}: {said}; is the gateway running?"
        if isinstance(error, httpx.UnsupportedProtocol):
            return f"{self._name}: {said}"
        if isinstance(error, httpx.RemoteProtocolError):
            return f"{self._name} speaks no HTTP, or broke off in the middle of its answer ({said})"
        return f"{self._name}: the connection broke off ({said})"


def _segment(what: str, name: str) -> str:
    """A name as one segment of a path, which cannot be empty. Raises `UnknownName`."""
    if not name:
        raise errors.UnknownName(f"no {what} ''")
    # Dots alone would mean another path.
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


def _parameters(query: msgspec.Struct) -> dict[str, Any]:
    """The fields of a query that are not at their default."""
    changed = {field.name for field in fields(query) if getattr(query, field.name) != field.default}
    return {name: value for name, value in msgspec.to_builtins(query).items() if name in changed}


def _checked(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, TypeError) as error:
        raise errors.UsageError(f"--url: {text!r} is no address ({error})") from error
    if url.scheme not in ("http", "https") or not url.host or not 0 < (url.port or 80) < 65536:
        raise errors.UsageError(f"--url: {text!r} is no address; write e.g. http://127.0.0.1:8420")
    if url.userinfo:
        raise errors.UsageError(
            "--url: a name and a password have no place in it; the token has its own file (--token-file)"
        )
    if url.query or url.fragment:
        raise errors.UsageError(f"--url: {text!r}: leave out what follows ? or #")
    return url


def _problem_of(found: httpx.Response, content: bytes) -> ProblemDocument | None:
    if found.headers.get("content-type", "").partition(";")[0].strip() != PROBLEM_JSON:
        return None
    try:
        problem = msgspec.json.decode(content, type=ProblemDocument)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return problem if problem.type.startswith(TYPE) else None


_BY_SLUG: dict[str, type[errors.TrunklineError]] = {slug: error for error, (_, slug) in TABLE.items()}


def _error_of(slug: str, detail: str) -> errors.TrunklineError:
    """The error that a problem stands for, with the facts as they were before they were made a sentence."""
    kind = _BY_SLUG.get(slug, errors.TrunklineError)
    first = str(kind())
    facts = detail.removeprefix(f"{first}: ") if detail != first else ""
    return kind(facts)


def _short(text: str) -> str:
    """Words of a stranger, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


class GivenToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token and where it is from; without a secret there is none."""

    secret: str = ""
    source: str = ""

    def __repr__(self) -> str:
        return f"GivenToken(source={self.source!r})"


def token_for(host: str, file: Path | None, environ: Mapping[str, str] = os.environ) -> GivenToken:
    """The token for a gateway: of a named file, of the variable, or of the gateway of this user on this machine.

    The last one is sent to loopback addresses alone: elsewhere it would go to a stranger. Raises `UsageError` for
    a named file that cannot be read, and for what cannot be a token.
    """
    if file is not None:
        return _checked_token(_read_token(file), str(file))
    if environ.get(VARIABLE):
        return _checked_token(environ[VARIABLE], VARIABLE)
    if not is_loopback(host):
        return GivenToken()
    own = state_folder(environ) / TOKEN
    return _checked_token(_read_token(own), str(own)) if own.is_file() else GivenToken()


def _read_token(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(_LONGEST)
    except OSError as error:
        raise errors.UsageError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise errors.UsageError(f"{file} is not text, so it holds no token") from error


def _checked_token(text: str, source: str) -> GivenToken:
    secret = text.strip()
    if not is_token(secret):
        raise errors.UsageError(f"{source} holds no token: expected letters, digits and signs without spaces")
    return GivenToken(secret=secret, source=source)
