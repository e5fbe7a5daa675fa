"""``trunkline init``: asks what a gateway needs, and writes its configuration file."""

import os
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trunkline.app.cli.io.questions import answer, check_new, choose, write_with_schema
from trunkline.app.cli.options import Flag
from trunkline.app.gc_policy import loading
from trunkline.app.terminal.output import print_lines
from trunkline.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from trunkline.app.serve.draft import Draft

#: the name of the schema beside the configuration
_SCHEMA = "gateway.schema.json"


@dataclass(frozen=True, kw_only=True)
class InitAnswers:
    """The answers that a script gives. What is not given is asked."""

    platform: str | None = None
    """`webchat` (no other), `telegram`, `discord`, `slack`, `matrix`, `signal` or `whatsapp`."""
    token: str | None = None
    """Name of the environment variable with the token of the platform; never the token itself."""
    app_token: str | None = None
    """Slack: name of the variable with the app-level token."""
    app_secret: str | None = None
    """WhatsApp: name of the variable with the app's secret."""
    verify_token: str | None = None
    """WhatsApp: name of the variable with the word for the webhook."""
    user: str | None = None
    """Matrix: id of the user, `@bot:example.org`."""
    number: str | None = None
    """Signal: the phone number. WhatsApp: id of the phone number."""
    address: str | None = None
    """Matrix: the homeserver. Signal: signal-cli. Else another API of the platform, such as a fake."""
    agent: str | None = None
    """`echo`, `openai` (a model), `program` or `webhook`."""
    model: str | None = None
    """openai: name of the model."""
    url: str | None = None
    """openai: address of the endpoint. webhook: address to which turns are posted."""
    key: str | None = None
    """openai: name of the variable with the key, or `none`."""
    command: str | None = None
    """program: the program and its arguments."""


_DEFAULTS = InitAnswers()


def write_configuration(
    file: Path = Path("gateway.yaml"),
    /,
    *,
    answers: Annotated[InitAnswers, Parameter(name="*")] = _DEFAULTS,
    yes: Flag = False,
    force: Flag = False,
    no_check: Flag = False,
) -> int:
    """Write the configuration file of a gateway, from answers.

    Asks for the platform, the name of the variable with its token, and the agent; then it asks the platform whose token
    it is. Beside the file comes gateway.schema.json, by which editors complete and check it. Nothing is written before
    all answers are right.

    :param file: The file.
    :param yes: Ask nothing: what no option says has its default.
    :param force: Overwrite a file that is there.
    :param no_check: Do not ask the platform about the token.
    """
    _check_target(file, force=force)
    with loading():
        from trunkline.app.cli.schema import gateway_schema_text

    draft = _draft({name.replace("_", "-"): value for name, value in asdict(answers).items() if value}, yes=yes)
    text = draft.text(file.name, _SCHEMA)
    if not no_check:
        _ask_platform(text, file, draft.given.get("token", ""))
    name = quote(str(file))
    write_with_schema(file, text, _SCHEMA, gateway_schema_text, force=force)
    unset = [variable for variable in draft.variables if not os.environ.get(variable, "").strip()]
    print_lines(
        f"{file} is written, with its schema beside it. Next:", *(f"  export {variable}=..." for variable in unset)
    )
    print_lines(f"  trunkline serve --check --config {name}", f"  trunkline serve --config {name}")
    return 0


def _check_target(file: Path, *, force: bool) -> None:
    check_new(file, "gateway.yaml", force=force)
    if file.name == _SCHEMA:
        raise UsageError(f"{file} is the place of the schema: name another file")


def _draft(given: dict[str, str], *, yes: bool) -> "Draft":
    """The answers, from options and from questions. Raises `UsageError` for what an option says wrong."""
    from trunkline.app.serve.draft import AGENTS, PLATFORMS, Draft

    platform = choose("platform", "Platform", PLATFORMS, "webchat", given.pop("platform", None), yes=yes)
    draft = Draft(platform, choose("agent", "Agent", AGENTS, "echo", given.pop("agent", None), yes=yes))
    for option in given:
        if option not in draft.blanks:
            also = f"the options that do: --{', --'.join(draft.blanks)}" if draft.blanks else "leave it out"
            raise UsageError(f"--{option} says nothing of {draft.platform} and {draft.agent}; {also}")
    for _, blank in draft.blanks.values():
        if blank.text or blank.option in given:
            check = partial(draft.answer, blank.option)
            answer(blank.text, blank.option, blank.default, given.get(blank.option), check, yes=yes)
    return draft


def _ask_platform(text: str, file: Path, token: str) -> None:
    """Ask the platform whose secret it is, if it is set. Raises `UsageError` for a refused one."""
    from trunkline.app.serve.asking import ask, probe_of
    from trunkline.app.serve.settings import read_config
    from trunkline.core.config.files.problems import ProblemReport

    account = read_config(text, ProblemReport(file.name)).accounts[-1]
    try:
        probe = probe_of(account, lambda secret: secret.read(file.parent, os.environ))
    except ConfigError:
        # It is not set yet.
        return
    if probe is None:
        return
    heard = ask(probe)
    if heard.there and not heard.taken:
        what = f"{account.on} refuses {f'the secret in {token}' if token else 'it'} ({heard.text})"
        raise UsageError(f"{what}, and nothing is written: correct it, or leave the question out with --no-check")
    print_lines(f"{account.on}: {heard.text}")
