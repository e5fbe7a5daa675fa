"""A configuration of the server from answers: what is asked for which platform and agent, and the text of the file."""

import re
import shlex
from typing import Any

import msgspec
import yaml

from trunkline.app.serve.settings import read_config
from trunkline.core.config.files.problems import FileError, ProblemReport

#: the answer for a key of a model that needs none
NONE = "none"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEAD = """\
# yaml-language-server: $schema={schema}
# Start it with `trunkline serve --config {name}`. `trunkline schema --gateway` has every field.
"""


class Blank(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a platform or an agent needs."""

    #: the option that answers it, and its field in the configuration
    option: str
    field: str
    #: the question; empty: only the option answers it
    text: str
    #: the answer where none is given; empty: one has to be given
    default: str = ""
    #: whether the answer is the name of the variable that has the value
    secret: bool = False


def _secret(option: str, field: str, default: str, text: str) -> Blank:
    return Blank(option=option, field=field, text=f"Variable with {text}", default=default, secret=True)


#: platform -> what its account needs; `webchat` is the mailbox that every configuration has
PLATFORMS: dict[str, tuple[Blank, ...]] = {
    "webchat": (),
    "telegram": (_secret("token", "token", "TELEGRAM_TOKEN", "the token that @BotFather gave"),),
    "discord": (_secret("token", "token", "DISCORD_TOKEN", "the token from the developer portal"),),
    "slack": (
        _secret("token", "bot_token", "SLACK_BOT_TOKEN", "the bot token, xoxb-..."),
        _secret("app-token", "app_token", "SLACK_APP_TOKEN", "the app-level token, xapp-..."),
    ),
    "matrix": (
        Blank(option="address", field="homeserver", text="Address of the homeserver"),
        Blank(option="user", field="user", text="Id of the user, @bot:example.org"),
        _secret("token", "token", "MATRIX_TOKEN", "the access token of the user"),
    ),
    "signal": (
        Blank(option="number", field="number", text="Phone number, +15550001111"),
        Blank(option="address", field="daemon", text="Address of signal-cli", default="http://127.0.0.1:8080"),
    ),
    "whatsapp": (
        Blank(option="number", field="phone_number_id", text="Id of the phone number, from the app's dashboard"),
        _secret("token", "token", "WHATSAPP_TOKEN", "the access token of a system user"),
        _secret("app-secret", "app_secret", "WHATSAPP_APP_SECRET", "the app's secret"),
        _secret("verify-token", "verify_token", "WHATSAPP_VERIFY_TOKEN", "a word of your own, for the webhook"),
    ),
}
#: kind of agent -> what it needs
AGENTS: dict[str, tuple[Blank, ...]] = {
    "echo": (),
    "openai": (
        Blank(option="model", field="model", text="Name of the model"),
        Blank(option="url", field="base_url", text="Address of the endpoint", default="https://api.openai.com/v1"),
        _secret("key", "api_key", "MODEL_KEY", f"the key of the endpoint, or `{NONE}`"),
    ),
    "program": (Blank(option="command", field="command", text="The program and its arguments"),),
    "webhook": (Blank(option="url", field="url", text="Address to which turns are posted"),),
}
#: where a platform with a public API may be reached instead
_ELSEWHERE = {
    platform: Blank(option="address", field="api_root", text="")
    for platform in ("telegram", "discord", "slack", "whatsapp")
}


class Draft:
    """Answers so far, by option."""

    def __init__(self, platform: str, agent: str) -> None:
        self.platform, self.agent = platform, agent
        self.given: dict[str, str] = {}
        of_platform = PLATFORMS[platform] + ((_ELSEWHERE[platform],) if platform in _ELSEWHERE else ())
        #: all that can be answered, in the order in which it is asked, with its section of the configuration
        self.blanks = {blank.option: (f"accounts[1].{platform}", blank) for blank in of_platform}
        self.blanks |= {blank.option: (f"agents.main.{agent}", blank) for blank in AGENTS[agent]}

    @property
    def variables(self) -> list[str]:
        """The variables that the answers name."""
        return [name for option, name in self.given.items() if self.blanks[option][1].secret and name != NONE]

    def answer(self, option: str, value: str) -> str | None:
        """Take an answer; return what is wrong with it, and then it is not taken. A secret is not repeated."""
        section, blank = self.blanks[option]
        if blank.secret and not _VARIABLE.fullmatch(value):
            return (
                "expected the name of an environment variable, of letters, digits and _, such as"
                f" {blank.default}: the file never has the secret itself"
            )
        places = {f"{section}.{blank.field}"}
        self.given[option] = value
        if all(other in self.given for other, (_, blank) in self.blanks.items() if blank.text):
            # Now what is wrong with them together is wrong with the last one.
            places.add(section)
        wrong = ""
        try:
            read_config(yaml.safe_dump(self._tree()), ProblemReport(""))
        except FileError as error:
            found = [problem for problem in error.problems if problem.field in places]
            wrong = "; ".join(f"{problem.message}{problem.hint and f' ({problem.hint})'}" for problem in found)
        except ValueError as error:
            wrong = f"{value!r} is no command: {error}"
        if wrong:
            del self.given[option]
        return wrong or None

    def text(self, name: str, schema: str) -> str:
        """The file, called `name`; `schema`: the address of its schema from there. Raises `FileError`."""
        body = yaml.safe_dump(self._tree(), sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)
        text = _HEAD.format(name=shlex.quote(name), schema=schema) + body
        read_config(text, ProblemReport(name))
        return text

    def _tree(self) -> dict[str, Any]:
        sections: dict[str, dict[str, Any]] = {section: {} for section, _ in self.blanks.values()}
        for option, value in self.given.items():
            section, blank = self.blanks[option]
            if blank.field != "api_key" or value != NONE:
                plain = shlex.split(value) if blank.field == "command" else value
                sections[section][blank.field] = {"env": value} if blank.secret else plain
        accounts: list[dict[str, Any]] = [{"channel": "webchat"}]
        if self.platform != "webchat":
            accounts.append({self.platform: sections[f"accounts[1].{self.platform}"]})
        agent = {self.agent: sections.get(f"agents.main.{self.agent}", {})}
        return {"accounts": accounts, "agents": {"main": agent}}
