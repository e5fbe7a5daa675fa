"""A random scenario for each seed, as the plain values of a file.

The script consists of episodes: some steps that happen at one place, so that one strikes what another began. Each
scenario has a theme, whose words are drawn more often, so that configuration, agents and script go together; what the
grammar names is besides drawn more often in some scenarios than in others.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec

from trunkline.core.config import parse_duration
from trunkline.core.errors import UsageError
from trunkline.sim.fuzz.draws import Drawer, Draws, MissingNameError, grammar
from trunkline.sim.scenario.model.world import BUTTONLESS, POLLLESS, THREADLESS

Tree = dict[str, Any]

# The world: people, platforms with accounts, rooms and threads.

PEOPLE = ("ana", "ben", "cleo")
#: platform -> form of a person's id, with the person's number
IDS = {
    "discord": "90000000000000000{}",
    "telegram": "70000000{}",
    "slack": "U0000000{}",
    "matrix": "@{name}:example.org",
    "whatsapp": "+1555000{}1",
    "signal": "+1559000{}1",
    "bluebubbles": "+1557000{}1",
    "imessage": "+1556000{}1",
    "msteams": "29:0000000{}",
}
_ACCOUNTS = (["default", "relay"], ["a1", "a2"], ["w1"], ["tasks"])
_WEIGHTS = {"discord": 5, "telegram": 4, "matrix": 2, "slack": 2, "whatsapp": 2}
_OFFERED = {"discord": "key", "matrix": "key"}


class Ground(msgspec.Struct, kw_only=True):
    """The names of a world, for the other areas of a scenario."""

    world: dict[str, Any]
    people: list[str]
    #: messages have secrets, so no agent may repeat elsewhere what it heard
    secrets: bool
    platforms: list[str]
    #: platform -> its accounts
    accounts: dict[str, list[str]] = {}
    #: rooms, threads and direct conversations, in full
    rooms: list[str] = []
    threads: list[str] = []
    direct: list[str] = []
    #: person -> platform -> id
    ids: dict[str, dict[str, str]] = {}

    @property
    def places(self) -> list[str]:
        return [*self.rooms, *self.threads, *self.direct]

    def named(self, name: str, draws: Draws) -> Any:
        """A value for a name of the grammar; none for a name outside the world."""
        options: list[Any] | None = {
            "platform": self.platforms,
            "account": [account for accounts in self.accounts.values() for account in accounts],
            "room": self.rooms,
            "thread": self.threads,
            "direct": self.direct,
            "place": self.places,
            "person": self.people,
            "id": [own for ids in self.ids.values() for own in ids.values()],
            "peer": [f"{of}:{own}" for ids in self.ids.values() for of, own in ids.items()],
        }.get(name)
        if options is None:
            return None
        if not options:
            raise MissingNameError(name)
        return draws.pick(options)


def platform_of(place: str) -> str:
    """The platform of a place in full form."""
    return place.partition(":")[0]


def make_world(seed: int, hot: frozenset[str]) -> Ground:
    draws = Draws(seed, "world", hot)
    people: list[str] = draws.some(PEOPLE, 3, 1)
    weights = {name: draws.weight(name, _WEIGHTS.get(name, 1)) for name in IDS}
    drawn = [draws.weighted(weights) for _ in range(draws.weighted({1: 4, 2: 4, 3: 1}))]
    platforms = [name for name in IDS if name in drawn]
    ground = Ground(world={}, people=people, platforms=platforms, secrets=draws.chance(0.25))
    known = draws.chance(0.7)
    drawer = Drawer(draws, lambda name: ground.named(name, draws))
    ground.world["people"] = Tree()
    for number, name in enumerate(people):
        ground.ids[name] = {of: IDS[of].format(number, name=name) for of in platforms} if known else {}
        ground.world["people"][name] = {"ids": ground.ids[name], **drawer.name("person_settings")}
    for platform in platforms:
        ground.world[platform] = _platform(drawer, platform, ground)
    return ground


def _platform(drawer: Drawer, platform: str, ground: Ground) -> dict[str, Any]:
    draws = drawer.draws
    accounts = ["default"] if not draws.chance(0.25, "accounts") else draws.pick(_ACCOUNTS)
    ground.accounts[platform] = accounts
    made: dict[str, Any] = drawer.name("platform_settings")
    if accounts != ["default"]:
        made["accounts"] = {name: drawer.name("account_settings") for name in accounts}
    if platform == "discord":
        made |= drawer.name("discord_settings")
    if draws.chance(0.15, "key_seconds") and made.get("idempotency", _OFFERED.get(platform)) == "key":
        made["key_seconds"] = draws.pick(("40s", "2m", "1h"))
    made["rooms"] = dict[str, Any]()
    for room in draws.some(("ops", "lab"), 2, 1):
        members = accounts if draws.chance(0.8) else accounts[:1]
        names: list[str] = [] if platform in THREADLESS else draws.some(("t1", "t2"), 2)
        # As people name things: upper case is another id on some platforms, and none on others.
        known = {"matrix": f"!Room{room}:example.org", "discord": f"70010020030040050{len(made['rooms']) + 1}"}
        ids = {"id": known[platform]} if platform in known and draws.chance(0.5) else {}
        made["rooms"][room] = {**ids, **({"threads": {of: {} for of in names}} if names else {})}
        if members != accounts:
            made["rooms"][room]["accounts"] = members
        for account in members:
            ground.rooms.append(f"{platform}:{account}/{room}")
            ground.threads.extend(f"{platform}:{account}/{room}/{thread}" for thread in names)
    ground.direct.extend(f"{platform}:{account}/@{person}" for account in accounts for person in ground.people)
    return made


HANDS = ("hare", "snail", "courier", "tower")
_COURIER = "courier"
#: words of what is drawn here and not by the grammar
_OUTSIDE = frozenset({"accounts", "after_call", "hooked", "key_seconds", "stored", "voice"})
#: a word of a message that no other message has
WORD = re.compile(r"q\d+z")
_GAPS = {0.0: 5, 0.01: 3, 0.2: 4, 1.0: 4, 5.0: 3, 30.0: 1, 90.0: 0.5}
#: share of scenarios without any trouble
_CALM = 0.07
#: what the grammar has that writes to other places
_ELSEWHERE = ("hook_elsewhere", "memory_reply")
#: first words of messages of which agents write to no other place
_QUIET = frozenset(["hello", "many", "think", "same", "fail", "quiet", "long", "blank", "files", "lines", "reason"])


def words_of(focus: str) -> frozenset[str]:
    """The hot words of a focus: the words of a theme, or a single word. Raises `UsageError` for an unknown focus."""
    themes = cast("dict[str, list[str]]", grammar()["themes"])
    if focus in themes:
        return frozenset(themes[focus])
    if focus in known_words():
        return frozenset((focus,))
    raise UsageError(f"--focus {focus}: neither a theme ({', '.join(themes)}) nor a word of random scenarios")


def known_words() -> frozenset[str]:
    """Words for a focus: fields, values, first words of messages, and names of the grammar."""
    text = str({name: node for name, node in grammar().items() if name != "themes"})
    return frozenset(re.findall(r"[a-z][\w-]+", text)) | IDS.keys() | _OUTSIDE


def make_scenario(seed: int, focus: str = "") -> Tree:
    """The scenario of a seed: the same on any machine. `focus`: a theme or a word; by default the seed has a theme."""
    themes = tuple(grammar()["themes"])
    chosen = Draws(seed, "theme")
    theme = focus or chosen.pick(themes)
    hot = words_of(theme) if focus or chosen.chance(0.85) else frozenset[str]()
    ground = make_world(seed, hot)
    gateway = _make_gateway(seed, ground, hot)
    script = Script(seed, ground, gateway, hot)
    steps = script.steps()
    cast_ = _make_cast(seed, ground, gateway, script, hot)
    if "voice" in ground.world:
        _connect_calls(Draws(seed, "voice", hot), ground, gateway)
    made = {"scenario": 1, "title": f"random scenario {seed}", "seed": seed, "gateway": gateway}
    made |= {"world": ground.world, "cast": cast_, "script": steps}
    drawer = _drawer(seed, "stored", ground, gateway, hot)
    if drawer.draws.chance(0.05, "stored"):
        with suppress(MissingNameError):
            made["stored"] = {"sessions": [drawer.name("stored_session")]}
    return made


def is_calm(seed: int) -> bool:
    """Whether a scenario has nothing but people who write: there every message must be answered."""
    return Draws(seed, "calm").chance(_CALM)


def _drawer(
    seed: int, area: str, ground: Ground, gateway: Tree, hot: frozenset[str], more: Mapping[str, Any] | None = None
) -> Drawer:
    """Draws values of an area; `more` are names of this area."""
    draws = Draws(seed, area, hot)
    agents: list[str] = [agent["id"] for agent in gateway.get("agents", ())]

    def named(name: str) -> Any:
        if more is not None and name in more:
            found = more[name]
            return found() if callable(found) else found
        match name:
            case "agent":
                return draws.pick(agents)
            case "hand":
                return draws.pick(("hare", "snail", _COURIER))
            case "channels":
                made = {platform: drawer.name("channel") for platform in draws.some(ground.platforms, 3, 1)}
                # Teams has no such gate.
                made.get("msteams", {}).pop("actions", None)
                return made
            case "links":
                return {own: [f"{of}:{on}" for of, on in ids.items()] for own, ids in ground.ids.items() if ids}
            case "places_of_account":
                first = draws.pick(ground.places)
                alike = [place for place in ground.places if place.partition("/")[0] == first.partition("/")[0]]
                return draws.some([place for place in alike if place.count("/") < 2], 3, 1)
            case "discord_room":
                return _chosen(draws, [room for room in ground.rooms if platform_of(room) == "discord"])
            case _ if name in _ELSEWHERE and ground.secrets:
                raise MissingNameError(name)
            case _:
                return ground.named(name, draws)

    drawer = Drawer(draws, named)
    return drawer


def _chosen(draws: Draws, options: list[str]) -> str:
    if not options:
        raise MissingNameError("a place")
    return draws.pick(options)


def _make_gateway(seed: int, ground: Ground, hot: frozenset[str]) -> Tree:
    draws = Draws(seed, "agents", hot)
    agents: list[Tree] = [{"id": "main"}, *([{"id": "other"}] if draws.chance(0.45, "other") else [])]
    if len(agents) > 1 and draws.chance(0.2):
        agents[1]["default"] = True
    drawer = _drawer(seed, "gateway", ground, {"agents": agents}, hot)
    if is_calm(seed):
        return {"agents": agents, "session": drawer.name("session_settings")}
    made: Tree = {"agents": agents, **drawer.name("gateway")}
    if draws.chance(0.65):
        made["channels"] = drawer.name("channels")
    for agent in agents:
        if draws.chance(0.25, "prompt"):
            agent["prompt"] = "You are kind."
        if draws.chance(0.1):
            agent["tools"] = {"message": drawer.name("message_tool")}
    if draws.chance(0.08):
        draws.pick(agents)["heartbeat"] = drawer.name("heartbeat")
    default = next((agent["id"] for agent in agents if agent.get("default")), "main")
    own = [agent["id"] for agent in agents if "heartbeat" in agent]
    beating = own or ([default] if "heartbeat" in made else [])
    if draws.chance(0.12, "cron"):
        schedule = _drawer(seed, "cron", ground, made, hot, {"beating": lambda: _chosen(draws, beating)})
        made["cron"] = [
            {"id": f"c{number}", "text": f"job {number}", "timezone": "UTC", **schedule.name("cron_entry")}
            for number in range(draws.number(1, 3))
        ]
    return made


def _connect_calls(draws: Draws, ground: Ground, gateway: Tree) -> None:
    """Configure a second channel for calls, and links of people to it."""
    if draws.chance(0.6, "after_call"):
        gateway.setdefault("channels", {})["voice"] = {"after_call": draws.pick(ground.platforms)}
        for number, name in enumerate(ground.people):
            ids = ground.world["people"][name].setdefault("ids", {})
            ids["voice"] = f"+1555123{number}001"
            for of in ground.platforms:
                ids.setdefault(of, IDS[of].format(number, name=name))
        links = {
            name: [f"{of}:{own}" for of, own in ground.world["people"][name]["ids"].items()] for name in ground.people
        }
        gateway.setdefault("session", {})["identity_links"] = links


def _make_cast(seed: int, ground: Ground, gateway: Tree, script: "Script", hot: frozenset[str]) -> Tree:
    agents: list[str] = [agent["id"] for agent in gateway["agents"]]
    said = script.said
    names = dict[str, Any]()
    drawer = _drawer(seed, "cast", ground, gateway, hot, names)
    draws = drawer.draws
    names |= {"thread": lambda: _chosen(draws, script.threads), "touch": lambda: _touch(drawer, said)}
    # An id alone is one of the conversation that the turn works in, so a change of another message names its place.
    made: Tree = {"agents": {}}
    for agent in agents:
        names["agent_name"] = agent
        made["agents"][agent] = _rules(drawer, script, gateway)
    named = {action["delegate"]["hand"] for action in _delegations(made["agents"])}
    made["hands"] = {name: drawer.name("hand_rule") for name in HANDS if name != _COURIER and name in named}
    if "tower" in made["hands"]:
        words = " ".join(f"brick{number}" for number in range(60))
        made["hands"]["tower"] = {"takes": "1s", "result": f"{words} of {{task}}"}
    if _COURIER in named:
        gateway.setdefault("hands", {}).setdefault("each", {})[_COURIER] = {
            "worker": True,
            "deadline": draws.pick(("10s", "2m")),
        }
        rules = [{"text": f"*{word}*", **_worker(drawer)} for word in draws.some(script.words, 1)]
        made["workers"] = {
            "w1": {"hand": _COURIER, "takes_after": draws.pick(("0s", "2s")), "rules": [*rules, _worker(drawer)]}
        }
    if draws.chance(0.3, "hooked") and not is_calm(seed):
        made["hooks"] = {f"h{number}": drawer.name("hook") for number in range(draws.number(1, 2))}
    return {name: value for name, value in made.items() if value}


def _worker(drawer: Drawer) -> Tree:
    rule: Tree = drawer.name("worker")
    if "fails" in rule:
        rule.pop("result", None)
    return rule


def _rules(drawer: Drawer, script: "Script", gateway: Tree) -> list[Tree]:
    """The rules of an agent for all messages of the script."""
    draws = drawer.draws
    used = [word for word in grammar()["answers"] if word in script.first_words]
    rules: list[Tree] = [
        {"when": {"text": f"{word} *"}, "do": drawer.draw(grammar()["answers"][word])} for word in used
    ]
    delegating = list(_delegations({"": rules}))
    for rule in rules:
        for action in rule["do"]:
            if action.get("cancel") == "soon" and "soon" not in used:
                action["cancel"] = "last"
    if delegating:
        rules[:0] = [
            {"when": {"callback": "*"}, "do": drawer.name("callback")},
            {"when": {"task": "*"}, "do": drawer.name("task")},
        ]
        if "loop" in used:
            chain = {"delegate": {"hand": "hare", "task": "loop {result}", "thread": False}}
            rules.insert(0, {"when": {"callback": "hare"}, "do": [chain, {"silent": True}]})
    if "wake" in script.kinds:
        rules.insert(0, {"when": {"wake": True}, "do": drawer.name("wake")})
    if "heartbeat" in str(gateway) or "system_event" in script.kinds:
        rules[:0] = [
            {"when": {"heartbeat": True, "text": "*happened*"}, "do": drawer.name("beat")},
            {"when": {"heartbeat": True}, "do": drawer.name("beat")},
        ]
    if "cron" in gateway:
        rules.insert(0, {"when": {"cron": "*"}, "do": drawer.name("beat")})
    if draws.chance(0.08):
        rules.insert(0, {"when": {"person": draws.pick(script.people)}, "do": [{"reply": "for you: {text}"}]})
    return [*rules, {"do": [drawer.name("re")]}]


def _delegations(agents: Mapping[str, list[Tree]]) -> list[Tree]:
    return [action for rules in agents.values() for rule in rules for action in rule["do"] if "delegate" in action]


def _touch(drawer: Drawer, said: Mapping[str, str]) -> Tree:
    """A change of a person's message, by its place."""
    message = _chosen(drawer.draws, list(said))
    return {"act": {**drawer.name("changed_last"), "of": message, "to": said[message]}}


class Script:
    """Makes the steps of a scenario, episode by episode."""

    def __init__(self, seed: int, ground: Ground, gateway: Tree, hot: frozenset[str]) -> None:
        self._ground = ground
        self._is_calm = is_calm(seed)
        channels: dict[str, Any] = gateway.get("channels", {})
        #: platforms whose top-level messages get threads
        self._opening = [
            name for name, settings in channels.items() if settings.get("auto_thread") and name not in THREADLESS
        ]
        #: ids of `say` steps so far, and where each was said
        self.said: dict[str, str] = {}
        #: threads that exist, or will if the gateway opens them
        self.threads = list(ground.threads)
        self.people = ground.people
        self._number = 0
        self._calls = 0
        #: places of the episode
        self._now: dict[str, str] = {}
        self._before = ""
        names: dict[str, Any] = {
            name: (lambda name=name: self._place(name))
            for name in (
                *("here", "elsewhere", "nearby", "thread", "same_thread", "other_account", "spawned_thread"),
                *("here_thread", "thread_room", "discord_place", "with_polls", "with_buttons", "account_here"),
            )
        }
        for name in ("who", "caller", "caller2", "line", "line2", "call_name", "new", "word", "next"):
            names[name] = lambda name=name: self._name(name)
        self._drawer = _drawer(seed, "script", ground, gateway, hot, names)
        self._draws = self._drawer.draws
        self.kinds = set[str]()
        self.first_words = set[str]()

    @property
    def words(self) -> list[str]:
        """The words of all messages."""
        return [f"q{number}z" for number in range(1, self._number + 1)]

    def steps(self) -> list[Tree]:
        """The steps of the script, with their times. There is always a message."""
        at, made = 0.0, list[Tree]()
        for _ in range(self._draws.weighted({1: 2, 2: 3, 3: 3, 4: 2, 6: 1})):
            made += self._episode("talk" if self._is_calm else "episodes")
        if not self.said:
            made += self._episode("talk")
        for step in made:
            gap = step.pop("gap", None)
            at = round(at + (self._draws.weighted(_GAPS) if gap is None else parse_duration(gap)), 3)
            step_ = {"at": at, **step}
            step.clear()
            step.update(step_)
        return made

    def _episode(self, kind: str) -> list[Tree]:
        """The steps of an episode; none in a world without its places."""
        number, calls, people = self._number, self._calls, dict(self._now)
        self._now = {}
        try:
            steps: list[Tree] = self._drawer.name(kind)
        except MissingNameError:
            self._number, self._calls, self._now = number, calls, people
            return []
        for step in steps:
            self._note(step)
        self._before = self._now.get("here", self._before)
        return steps

    def _note(self, step: Tree) -> None:
        self.kinds |= step.keys()
        place = str(step.get("in", ""))
        if "say" in step:
            person = place.partition("@")[2].partition("/")[0]
            if person in self.people and "via" not in step and "proxy" not in step:
                step["as"] = person
            if place in self.threads:
                # A chain of replies is in a room or a direct conversation.
                step.pop("reply_chain", None)
            found = WORD.search(step["say"])
            own = f"m{len(self.said) + 1}"
            self.said[own] = place
            self.first_words.add(step["say"].partition(" ")[0])
            if platform_of(place) == "voice":
                return
            if place in self._ground.rooms and platform_of(place) in self._opening:
                self.threads.append(f"{place}/{own}")
            if found and self._ground.secrets and step["say"].partition(" ")[0] in _QUIET and self._draws.chance(0.5):
                step["secret"] = found[0]
        elif "call" in step:
            self._ground.world.setdefault("voice", {})
        elif step.get("fault", {}).get("on") == "server":
            self._ground.world["store"] = "server"

    def _name(self, name: str) -> str:
        match name:
            case "new":
                self._number += 1
                return f"q{self._number}z"
            case "word":
                return f"q{self._number}z"
            case "next":
                return f"q{self._number + 1}z"
            case "call_name":
                self._calls += 1
                return ("one", "two", "three", "four", "five", "six")[self._calls % 6] + str(self._calls)
            case "line" | "line2":
                return f"voice:default/@{self._name('caller' + name[4:])}"
            case "caller2":
                others = [person for person in self.people if person != self._name("caller")]
                return self._kept(name, lambda: _chosen(self._draws, others))
            case _:
                return self._kept(name, lambda: self._draws.pick(self.people))

    def _kept(self, name: str, draw: Any) -> str:
        """A draw that is made once in an episode."""
        if name not in self._now:
            self._now[name] = draw()
        return self._now[name]

    def _place(self, name: str) -> Any:
        """A place by its name in the grammar; an account for ``account_here``."""
        draws, now = self._draws, self._now
        match name:
            case "here":
                again = self._before and draws.chance(0.5)
                return self._kept("here", lambda: self._before if again else self._first())
            case "same_thread":
                return now["thread"]
            case "account_here":
                platform, _, account = self._place("here").partition("/")[0].partition(":")
                return {"platform": platform, "account": account}
            case "thread" | "thread_room" | "discord_place":
                kept = "thread" if name == "thread" else "here"
                now[kept] = _chosen(draws, self._options(name, ""))
                return now[kept]
            case _:
                return _chosen(draws, self._options(name, self._place("here")))

    def _options(self, name: str, here: str) -> list[str]:
        """The places that a name of the grammar may mean."""
        ground, threads = self._ground, self.threads
        others = [place for place in (*ground.rooms, *threads, *ground.direct) if place != here]
        match name:
            case "thread":
                found = threads
            case "thread_room":
                found = [place for place in ground.rooms if platform_of(place) not in THREADLESS]
            case "discord_place":
                found = [place for place in (*ground.rooms, *threads) if platform_of(place) == "discord"]
            case "spawned_thread":
                opens = here in ground.rooms and platform_of(here) not in THREADLESS
                found = [f"{here}/m{len(self.said) + 1}.hand1"] if opens else []
            case "other_account":
                alike = [place for place in others if platform_of(place) == platform_of(here)]
                found = [place for place in alike if place.partition("/")[2] == here.partition("/")[2]]
            case "here_thread":
                found = [here] if here in threads else []
            case "with_polls" | "with_buttons":
                lacking = POLLLESS if name == "with_polls" else BUTTONLESS
                found = [here] if platform_of(here) not in lacking else []
            case "nearby":
                found = [place for place in others if platform_of(place) == platform_of(here)]
            case _:
                found = others
        return found

    def _first(self) -> str:
        """A room, a thread or a direct conversation, each kind as often as the others."""
        ground = self._ground
        kinds = [kind for kind in (ground.rooms, self.threads, ground.direct) if kind]
        return self._draws.pick(self._draws.pick(kinds))
