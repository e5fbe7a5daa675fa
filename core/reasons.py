"""The closed set of reason codes: one enum, shown unchanged in events, queue rows, the CLI and the app.

Nothing is dropped, suppressed, redirected or given up without a reason (invariant V1). The sentence of each code is its
documentation; `docs/reasons.md` is generated from this table.
"""

from enum import StrEnum, auto


class Reason(StrEnum):
    """Why something happened, or did not: its code, and a sentence for people."""

    sentence: str

    def __new__(cls, code: str, sentence: str = "") -> "Reason":
        reason = str.__new__(cls, code)
        reason._value_, reason.sentence = code, sentence
        return reason

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        """The code of a reason is its name, so a renamed one would be another reason for files that have it."""
        return name.lower().replace("_", "-")

    # inbound
    DUPLICATE_MESSAGE = auto(), "The platform delivered the message again under the same id."
    DUPLICATE_REPLAY = (auto(), "The platform replayed the message under a new id; sender, time and text are the same.")
    PART_OF_ACT = (
        auto(),
        "The message belongs to the one before it, such as a file of an album: one turn answers them all.",
    )
    EMPTY_MESSAGE = auto(), "The message has no content to act on."
    SERVICE_MESSAGE = auto(), "A note of the platform, such as somebody who joined: nobody said anything."
    BAD_ENVELOPE = (auto(), "The adapter handed over a message with unusable fields; it cannot be stored or answered.")
    BAD_UPDATE = auto(), "An update of the platform could not be read as a message."
    BAD_SIGNATURE = auto(), "The request is not signed by the platform with the secret of this account."
    STALE_WEBHOOK = auto(), "The request is signed, but it is too old."
    OTHER_WEBHOOK_ACCOUNT = (auto(), "The request is for another account of the platform than the one it was sent to.")
    DEEDS_IGNORED = auto(), "The account is configured to ignore what people do to messages."
    UNCHANGED = auto(), "The message says the same as before."
    WITHDRAWN = auto(), "The person deleted the message before its turn had begun."
    UNDECIDABLE = auto(), "Deciding on the message raised an error; it stays unacknowledged."
    # why a route rule won or lost
    MATCHED = auto(), "Every constraint of the route rule holds, and no more specific tier matched."
    OTHER_CHANNEL = auto(), "The rule or binding names another channel."
    OTHER_ACCOUNT = (
        auto(),
        "The rule or binding names another account (a rule without one means the default account).",
    )
    OTHER_PEER = auto(), "The route rule names another peer, or a peer of another kind."
    OTHER_GUILD = auto(), "The route rule names another guild."
    OTHER_TEAM = auto(), "The route rule names another team."
    ROLE_MISSING = auto(), "The sender holds none of the roles that the route rule lists."
    LESS_SPECIFIC = auto(), "A route rule of a more specific tier matched."
    DECLARED_LATER = auto(), "A matching route rule of the same tier was declared earlier."
    DEFAULT_AGENT = auto(), "No route rule matched: the default agent answers."
    # configuration and sessions
    SCOPE_CHANGED = auto(), "The configured scope changed, and with it the session key of this conversation."
    KEY_MIGRATED = auto(), "An earlier version stored the session under another form of its key."
    KEYS_MERGED = auto(), "Two stored keys name the same conversation: the session used last is kept."
    SHARED_MAIN = auto(), "Unlinked people share one session because the DM scope is main."
    # sends that name a target, an account or a session
    BAD_TARGET = auto(), "The target does not name a place on its platform."
    AMBIGUOUS_TARGET = auto(), "The target can mean several places; it must be more specific."
    UNKNOWN_CHANNEL = auto(), "No adapter serves that channel."
    UNKNOWN_ACCOUNT = auto(), "The gateway has no such account on that channel."
    BAD_SESSION_KEY = auto(), "The text is not a session key."
    NOTHING_TO_SEND = auto(), "There is neither text nor media."
    TEXT_TOO_LONG = auto(), "The text is longer than the gateway accepts."
    BAD_TEXT = auto(), "The text is not valid Unicode."
    UNSUPPORTED = auto(), "The channel's adapter cannot do that."
    BAD_POLL = auto(), "The poll is invalid."
    DRY_RUN = auto(), "The send was a dry run: nothing was stored or sent."
    BAD_IDEMPOTENCY_KEY = auto(), "The idempotency key is empty, or a text that cannot be stored."
    IDEMPOTENT_REPEAT = (auto(), "An earlier send had the same idempotency key; this one returns its result.")
    # messages of bots and of the gateway itself
    OWN_ECHO = auto(), "The platform delivered what the gateway had posted itself, by a webhook or another account."
    BOT_IGNORED = auto(), "A bot or webhook wrote it, and the channel is configured to ignore those."
    BOUND_TO_OTHER_ACCOUNT = (
        auto(),
        "The conversation is bound through another account of the gateway, which answers.",
    )
    DUPLICATE_PROXY = auto(), "A proxy posted it in place of a message that was already received."
    # session bindings: why one won, lost, ended, or could not be made
    BOUND_SESSION = auto(), "The conversation is bound to a session, which receives its messages."
    BOUND_DESTINATION = (
        auto(),
        "The session has a bound conversation, and its completion goes there and nowhere else.",
    )
    REQUESTER_MATCH = (auto(), "It is the requester's conversation, or the only bound one on that channel and account.")
    SINGLE_ACTIVE_BINDING = (auto(), "The requester is unknown, and the session has exactly one bound conversation.")
    SINGLE_ACTIVE_BINDING_FALLBACK = (auto(), "The session's only bound conversation is on another channel or account.")
    MISSING_TARGET_SESSION = auto(), "No session was named."
    NO_ACTIVE_BINDING = auto(), "The session has no active binding."
    MISSING_REQUESTER = auto(), "The requester is unknown, and destinations are not guessed."
    AMBIGUOUS_WITHOUT_REQUESTER = (auto(), "The requester is unknown, and several conversations are bound.")
    INVALID_REQUESTER = auto(), "The requester has no channel or no conversation."
    NO_REQUESTER_MATCH = (
        auto(),
        "No bound conversation is the requester's, or the only one on that channel and account.",
    )
    OTHER_CONVERSATION = auto(), "It belongs to another conversation than the one that is meant."
    NOT_ACTIVE = auto(), "The binding is ending and accepts nothing new."
    UNBOUND = auto(), "A peer or an operator unbound the conversation."
    REBOUND = auto(), "The conversation was bound to another session."
    IDLE_EXPIRED = auto(), "The bound conversation was idle for too long."
    MAX_AGE_EXPIRED = auto(), "The binding reached its maximum age."
    THREAD_ARCHIVED = auto(), "The thread is archived and cannot be unarchived."
    THREAD_GONE = auto(), "The thread was deleted or is no longer visible to the bot."
    BINDING_ADAPTER_UNAVAILABLE = (auto(), "No adapter for that channel and account can bind conversations.")
    BINDING_CAPABILITY_UNSUPPORTED = (auto(), "The adapter cannot bind a conversation in this way.")
    BINDING_CREATE_FAILED = auto(), "The platform could not create a conversation to bind."
    BOUND_BY_ANOTHER = auto(), "Another user bound the conversation."
    BAD_END_REASON = auto(), "The reason that was given for an end is no text."
    BINDING_SELECTOR_MISSING = auto(), "Neither a binding nor a session was named."
    UNKNOWN_SESSION = auto(), "There is no such session."
    BAD_TTL = auto(), "The time to live is not a positive number of seconds."
    IDENTITY_GONE = auto(), "The webhook that should post the message is gone or may not be used."
    THREAD_NOTICE = (auto(), "A notice, without its content, that a message could not be delivered to its thread.")
    FAILED_NOTICE = (auto(), "The configured notice, without its content, that an answer could not be delivered.")
    DOUBT_NOTICE = auto(), "The configured notice, without its content, that an answer may not have arrived."
    NOTICE_REPEATED = auto(), "A notice may have reached nobody, and somebody has written where it belongs."
    CLOSED_NOTICE = (auto(), "The configured notice, without its content, that an answer waits for its thread to open.")
    # commands from peers to the gateway
    CONTROL_REPLY = auto(), "The gateway answers a command in the conversation where it was given."
    NOT_PERMITTED = auto(), "The requester may not do that."
    UNKNOWN_COMMAND = auto(), "There is no such command."
    # why a destination was chosen
    REPLY_TO_ORIGIN = auto(), "The answer goes to the exact place that the message came from."
    REPLY_IN_OPENED_THREAD = (auto(), "Auto-thread is on: the answer goes to the thread opened on the message.")
    EXPLICIT_TARGET = auto(), "The agent named the target."
    CALLBACK_TURN = auto(), "The hand's result becomes one turn of the requester's session."
    DIRECT_ANNOUNCE = auto(), "The hand's result is posted unchanged, without a turn of the requester."
    HAND_SESSION_ROUTE = auto(), "The hand's own session resolved to this place."
    REQUESTER_REPLACED = (auto(), "The requester has another session meanwhile: the result is posted without a turn.")
    CLIENT_SEND = auto(), "A client of the gateway requested it, outside any turn."
    # why nothing is sent
    NO_REPLY = auto(), "The agent chose not to answer."
    NO_ORIGIN = (
        auto(),
        "The turn did not start from a conversation, so its text or its hand's result has no destination.",
    )
    ALREADY_QUEUED = auto(), "The same turn already queued the same intent (a re-run after a crash)."
    CALL_CHANGED = (auto(), "An earlier run of the turn delegated something else with the same call; that one counts.")
    # turns and hands
    AGENT_RAISED = auto(), "The agent raised an error; the turn ended without an answer."
    BAD_ANSWER = (
        auto(),
        "The agent, or the model behind it, returned something unusable; the turn ended without an answer.",
    )
    AGENT_TIMEOUT = auto(), "The agent did not answer within its time limit."
    AGENT_UNREACHABLE = (
        auto(),
        "The model, program or service behind the agent could not be reached, or refused the request.",
    )
    AGENT_BROKE_OFF = (auto(), "The model, program or service behind the agent stopped in the middle of its answer.")
    AGENT_REFUSED = auto(), "The model declined to answer."
    TOO_MANY_CALLS = auto(), "The agent called tools more often than a turn allows."
    ANSWER_TOO_LONG = auto(), "The answer of the agent is longer than its limit allows."
    INPUT_TOO_LONG = (auto(), "The message, with the prompts and tools of its turn, is longer than the agent takes.")
    ERROR_NOTICE = auto(), "The configured notice that the agent failed and the message is not answered."
    PROMPT_FAILED = auto(), "The system prompts of the turn could not be composed, so the agent was not asked."
    BAD_ARGUMENT = auto(), "An argument has the wrong type, or is a text that cannot be stored."
    TURN_OVER = auto(), "The turn had ended when its tool was called."
    RUNS_EXHAUSTED = auto(), "The process died during every allowed run."
    RUNS_NOTICE = (
        auto(),
        "A notice that the message is not answered, because the process died during every run of it.",
    )
    UNKNOWN_AGENT = auto(), "The route names an agent that is not installed."
    UNKNOWN_HAND = auto(), "The agent delegated to a hand that is not installed."
    HAND_RAISED = auto(), "The hand raised an error."
    BAD_RESULT = auto(), "The hand returned something that is no text."
    HAND_DEADLINE = auto(), "The hand did not finish within its deadline."
    PROCESS_DIED = auto(), "The process that ran it died."
    ALREADY_FINISHED = auto(), "A result was already stored; the first one counts."
    SELF_DELEGATION = auto(), "An agent cannot delegate to itself."
    HAND_NOT_ALLOWED = auto(), "The configuration does not let this agent use that hand."
    DEPTH_EXCEEDED = auto(), "Too many delegations stand one above the other."
    CHAIN_EXCEEDED = auto(), "Too many turns have followed from each other without a new message of a person."
    SESSION_CAP = auto(), "The session has as many open delegations as it may have."
    GATEWAY_CAP = auto(), "The gateway has as many open delegations as it may have."
    CANCELLED_BY_AGENT = auto(), "The agent that delegated it cancelled it."
    CANCELLED_BY_PEER = auto(), "The person who asked cancelled it."
    CANCELLED_BY_OPERATOR = auto(), "An operator cancelled it."
    PARENT_ENDED = auto(), "The task that it was delegated for has ended, so nobody waits for it."
    UNKNOWN_DELEGATION = auto(), "There is no such delegation."
    WRONG_TICKET = auto(), "The answer does not have the ticket of the worker that took the task."
    NOT_A_WORKER = auto(), "The hand is not a worker: its own run gives the result."
    RESULT_TOO_LARGE = auto(), "The result is longer than `hands.max_result`."
    CALLBACK_OFF = auto(), "The configuration has this outcome reported to nobody."
    ALREADY_SENT = auto(), "The turn already sent this text to the same place by the message tool."
    DISCARDED = auto(), "An operator discarded the report."
    PASSED_ON = (
        auto(),
        "Passed on to its parent: the agent is a hand itself, and what it returned is part of its own result.",
    )
    RESERVED_SENDER = (auto(), "The sender begins with `hand:` or `agent:`, which no person may have; it was escaped.")
    CALL_ENDED = auto(), "The call has ended, and nothing can be said in it any more."
    SECOND_CHANNEL = auto(), "The call has ended; the person gets it on the configured second channel."
    NO_SECOND_CHANNEL = (
        auto(),
        "The call has ended, and the person has no single place on the configured second channel.",
    )
    # delivery
    ACCEPTED = auto(), "The platform accepted it."
    FOUND_BY_LOOKUP = auto(), "A look-up found it on the platform."
    NOT_FOUND_BY_LOOKUP = (auto(), "A look-up after the request's lifetime did not find it on the platform.")
    LOOKUP_FAILED = auto(), "The look-up itself failed, which proves nothing."
    NOT_SENT = auto(), "The request provably never reached the platform."
    RATE_LIMITED = auto(), "The platform asked to wait."
    PLATFORM_ERROR = auto(), "The platform did not accept it, for a reason that may be temporary."
    REFUSED = auto(), "The platform refused it for good."
    DELETED_BY_OTHERS = auto(), "Somebody else has deleted the message on its platform."
    PLACE_GONE = auto(), "The conversation or thread no longer accepts messages."
    PLACE_CLOSED = auto(), "The thread is closed, and takes no messages until it is opened again."
    UNAUTHORIZED = auto(), "The platform did not accept the account's token."
    RESPONSE_LOST = auto(), "The request was sent and no response came back: it may have been accepted."
    CRASH_AMBIGUOUS = auto(), "The process died while the request may have been on the wire."
    SAME_KEY_RESEND = (auto(), "Resent under the same key: the platform keeps only one, or a repeat harms nobody.")
    ATTEMPTS_EXHAUSTED = auto(), "All allowed attempts were used."
    TOO_OLD = auto(), "It is older than the age limit."
    NO_ADAPTER = auto(), "No adapter is installed for that channel and account."
    PARKED = auto(), "Whether it was accepted cannot be known: parked for an operator, never resent silently."
    MISPLACED = auto(), "The platform accepted it, but the receipt shows another place than the requested one."
    RECOVERED = auto(), "Found unfinished at start."
    NO_RECEIPT = (
        auto(),
        "The response names no message, as this platform's responses must: it is no proof of delivery.",
    )
    KEY_EXPIRED = (auto(), "The platform has forgotten the idempotency key, so the chunk cannot be resent under it.")
    MARKED_RESEND = auto(), "It may have been accepted: the policy is to send it once more, visibly marked."
    GATEWAY_PATH = (auto(), "The direct transport provably did not reach the platform: the gateway transport is used.")
    NOT_READY = auto(), "The channel is not ready; waiting uses no attempt."
    PACED = auto(), "The configured rate limit for recovered messages is reached."
    # hooks
    KEPT_BY_HOOKS = auto(), "The hooks left it unchanged."
    MODIFIED_BY_HOOK = auto(), "A hook changed it before it was stored."
    CANCELLED_BY_HOOK = auto(), "A hook cancelled it: it is not sent and its text is not stored."
    EMPTY_AFTER_HOOK = auto(), "The hooks left nothing visible."
    HOOK_RAISED = auto(), "A hook raised an error: the message is sent without it unless the hook is required."
    BAD_HOOK_ANSWER = auto(), "A hook returned an invalid answer, which counts as an error of the hook."
    CHUNKER_FAILED = (
        auto(),
        "A chunker that the adapter or the channel's rules bring along failed; a built-in one was used.",
    )
    # operators, other processes
    OPERATOR_RETRY = auto(), "An operator retried it."
    OPERATOR_SENT = auto(), "An operator confirmed that the platform has it."
    OPERATOR_UNSENT = auto(), "An operator confirmed that the platform does not have it."
    ABANDONED = (auto(), "An operator gave it up while a chunk was in doubt: whether that was accepted stays unknown.")
    SHOWN_AS_STORED = (auto(), "A trace begins in the middle: this was so before, and the trace does not have why.")
    LEASE_FREE = auto(), "No process holds the store."
    LEASE_EXPIRED = auto(), "The process that holds the store has not renewed its lease in time."
    HOLDER_DEAD = auto(), "The process that held the store is provably dead."
    LEASE_HELD = auto(), "Another process holds the store."
    STORE_ERROR = auto(), "The store refused the write; it is retried."
    STORE_FILE = auto(), "The store file is new beside what an earlier one left, or has several names."
    STORE_GONE = auto(), "The store file was deleted or replaced; the gateway ends."
    STORE_DAMAGED = auto(), "The store file is damaged; the gateway ends."
    MIRROR_REFUSED = auto(), "The store refused the transcript line; the write is retried until it succeeds."
    BROKEN_ROW = auto(), "Its stored row cannot be read: it is set aside and blocks no other."
    CHANGED_ELSEWHERE = auto(), "Another process or an operator changed the stored row: it is read again."
    RETENTION = auto(), "It ended before the retention period of finished rows."
    # the message tool
    BAD_ACTION = auto(), "There is no such action, the channel does not have it, or its parameters are unusable."
    ACTION_DISABLED = auto(), "The configuration does not allow this action."
    UNKNOWN_MESSAGE = auto(), "The gateway knows no such message in this conversation."
    NOT_OWN_MESSAGE = auto(), "Somebody else wrote the message."
    NOTHING_TO_CHANGE = auto(), "The message that should be changed was never delivered."
    BAD_ATTACHMENT = auto(), "The attachment cannot be read."
    # the cross-context policy
    SAME_CONVERSATION = auto(), "The target is the conversation that the turn works in."
    NOT_GUARDED = auto(), "The policy does not judge this action."
    WITHIN_PROVIDER = auto(), "The target is another conversation of the same channel, which is allowed."
    ACROSS_PROVIDERS = auto(), "The target is on another channel, which is allowed."
    WITHOUT_ORIGIN = (auto(), "The turn works in no conversation, and the target is one that such turns may reach.")
    CROSS_CONTEXT_DENIED = auto(), "The policy does not allow a message from here to there."
    # heartbeat and schedule
    HEARTBEAT_TARGET = auto(), "What the heartbeat returned goes to its configured target."
    DISABLED = auto(), "The heartbeat is switched off, or has no interval."
    QUIET_HOURS = auto(), "It is outside of the active hours."
    REQUESTS_IN_FLIGHT = auto(), "The session of the heartbeat is busy; it is tried again soon."
    CRON_IN_PROGRESS = (auto(), "A scheduled turn of the agent is running; the heartbeat is tried again soon.")
    LANES_BUSY = auto(), "Another turn of the agent is running; the heartbeat is tried again soon."
    EMPTY_HEARTBEAT_FILE = auto(), "The instructions of the heartbeat hold nothing to do."
    NO_TASKS_DUE = auto(), "None of the tasks of the heartbeat is due."
    ALERTS_DISABLED = auto(), "The configuration shows no alerts of heartbeats."
    DUPLICATE = auto(), "The heartbeat said the same within 24 hours."
    NO_TARGET = auto(), "The heartbeat has no channel or nobody to write to."
    TARGET_NONE = auto(), "The heartbeat is configured to deliver nothing."
    UNKNOWN_HEARTBEAT_ACCOUNT = auto(), "The channel has no account of the configured name."
    ALLOW_FROM_FALLBACK = (
        auto(),
        "The configured person is not among the channel's recipients; the first of those is taken.",
    )
    DM_BLOCKED = auto(), "The heartbeat may not write to direct conversations."
    NO_ROUTE = auto(), "The heartbeat has no conversation that it may write to."
    NOT_DUE = auto(), "The heartbeat is not due yet."
    MIN_SPACING = auto(), "The last heartbeat was too short a time ago."
    FLOOD = auto(), "Too many heartbeats started within a minute."
    AGENT_RUNNER_FAILURE = auto(), "The turn of the heartbeat failed."
    OK_EMPTY = auto(), "The heartbeat returned nothing."
    OK_TOKEN = auto(), "The heartbeat returned that there is nothing to say."
    HEARTBEAT_DUE = auto(), "The heartbeat is due."
    HEARTBEAT_WAKE = auto(), "Something woke the heartbeat."
    CRON_DUE = auto(), "An entry of the schedule is due."
    CRON_MISSED = auto(), "An entry of the schedule was due while no process ran; it runs once."
    CRON_PAST = auto(), "The time of the entry had passed before a process first saw it; it does not run."
