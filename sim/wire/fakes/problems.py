"""Errors of the control interface: what is wrong, where, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Handler

from trunkline.core.config.files.problems import FileError
from trunkline.core.errors import TrunklineError, UnknownName
from trunkline.sim.wire.fakes.steps import plain_field


class BadRequest(Exception):
    """A request that is wrong, with the place and the remedy."""

    def __init__(self, at: str, message: str, remedy: str = "", *, status: int = 400) -> None:
        super().__init__(message)
        self.at = at
        self.message = message
        self.remedy = remedy
        self.status = status


def answer(value: object, status: int = 200) -> web.Response:
    """A JSON response, in ASCII: half a character of a stranger's text breaks nobody's decoder."""
    return web.Response(status=status, text=json.dumps(value) + "\n", content_type="application/json")


def problem(status: int, code: str, message: str, remedy: str = "", *, at: str = "") -> web.Response:
    """The response for one problem."""
    return _problems(status, code, message, [(at, message, remedy)])


def _problems(status: int, code: str, message: str, found: Iterable[tuple[str, str, str]]) -> web.Response:
    listed = [{"at": at, "problem": wrong, "remedy": remedy} for at, wrong, remedy in found]
    return answer({"error": {"code": code, "message": message, "problems": listed}}, status)


@web.middleware
async def with_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Respond to errors: 4xx for those of the request, 409 for what the world does not allow now."""
    try:
        return await handler(request)
    except BadRequest as error:
        return problem(error.status, "bad-request", error.message, error.remedy, at=error.at)
    except FileError as error:
        named = [(problem, problem.message.replace("script[0]", "a step")) for problem in error.problems]
        found = [(plain_field(problem.field), message, problem.hint) for problem, message in named]
        return _problems(422, "bad-step", "; ".join(f"{at or 'the step'}: {wrong}" for at, wrong, _ in found), found)
    except UnknownName as error:
        return problem(409, "not-now", error.facts or str(error))
    except TrunklineError as error:
        return problem(409, "not-now", str(error))
    except web.HTTPRequestEntityTooLarge:
        return problem(413, "too-large", "the body is too large", "send at most 16 MB")
    except web.HTTPNotFound:
        return problem(404, "not-found", f"there is no {request.path}", "GET / lists what there is")
    except web.HTTPMethodNotAllowed as error:
        there = ", ".join(sorted(error.allowed_methods))
        wrong = f"{request.path} takes {there}, not {request.method}"
        return problem(405, "not-allowed", wrong, "GET / lists what there is")
