"""The closed set of reason codes: one enum, shown unchanged in events, queue rows, the CLI and the app.

Nothing is dropped, suppressed, redirected or given up without a reason (invariant V1). The sentence of each code is its
documentation; `docs/reasons.md` is generated from this table.
"""

from enum import StrEnum


class Reason(StrEnum):
    """Why something happened, or did not: its code, and a sentence for people."""

    sentence: str

    def __new__(cls, code: str, sentence: str = "") -> "Reason":
        reason = str.__new__(cls, code)
        reason._value_, reason.sentence = code, sentence
        return reason

    # inbound
    DUPLICATE_MESSAGE = "duplicate-message", "The platform delivered the message again under the same id."
    DUPLICATE_REPLAY = (
        "duplicate-replay",
        "The platform replayed the message under a new id; sender, time and text are the same.",
    )
    PART_OF_ACT = (
        "part-of-act",
        "The message belongs to the one before it, such as a file of an album: one turn answers them all.",
    )
    EMPTY_MESSAGE = "empty-message", "The message has no content to act on."
    SERVICE_MESSAGE = "service-message", "A note of the platform, such as somebody who joined: nobody said anything."
    BAD_ENVELOPE = (
        "bad-envelope",
        "The adapter handed over a message with unusable fields; it cannot be stored or answered.",
    )
    BAD_UPDATE = "bad-update", "An update of the platform could not be read as a message."
    BAD_SIGNATURE = "bad-signature", "The request is not signed by the platform with the secret of this account."
    STALE_WEBHOOK = "stale-webhook", "The request is signed, but it is too old."
    OTHER_WEBHOOK_ACCOUNT = (
        "other-webhook-account",
        "The request is for another account of the platform than the one it was sent to.",
    )
    DEEDS_IGNORED = "deeds-ignored", "The account is configured to ignore what people do to messages."
    UNCHANGED = "unchanged", "The message says the same as before."
    WITHDRAWN = "withdrawn", "The person deleted the message before its turn had begun."
    UNDECIDABLE = "undecidable", "Deciding on the message raised an error; it stays unacknowledged."
    # why a route rule won or lost
    MATCHED = "matched", "Every constraint of the route rule holds, and no more specific tier matched."
    OTHER_CHANNEL = "other-channel", "The rule or binding names another channel."
    OTHER_ACCOUNT = (
        "other-account",
        "The rule or binding names another account (a rule without one means the default account).",
    )
    OTHER_PEER = "other-peer", "The route rule names another peer, or a peer of another kind."
    OTHER_GUILD = "other-guild", "The route rule names another guild."
    OTHER_TEAM = "other-team", "The route rule names another team."
    ROLE_MISSING = "role-missing", "The sender holds none of the roles that the route rule lists."
    LESS_SPECIFIC = "less-specific", "A route rule of a more specific tier matched."
    DECLARED_LATER = "declared-later", "A matching route rule of the same tier was declared earlier."
    DEFAULT_AGENT = "default-agent", "No route rule matched: the default agent answers."
    # configuration and sessions
    SCOPE_CHANGED = "scope-changed", "The configured scope changed, and with it the session key of this conversation."
    KEY_MIGRATED = "key-migrated", "An earlier version stored the session under another form of its key."
    KEYS_MERGED = "keys-merged", "Two stored keys name the same conversation: the session used last is kept."
    SHARED_MAIN = "shared-main", "Unlinked people share one session because the DM scope is main."
    # sends that name a target, an account or a session
    BAD_TARGET = "bad-target", "The target does not name a place on its platform."
    AMBIGUOUS_TARGET = "ambiguous-target", "The target can mean several places; it must be more specific."
    UNKNOWN_CHANNEL = "unknown-channel", "No adapter serves that channel."
    UNKNOWN_ACCOUNT = "unknown-account", "The gateway has no such account on that channel."
    BAD_SESSION_KEY = "bad-session-key", "The text is not a session key."
    NOTHING_TO_SEND = "nothing-to-send", "There is neither text nor media."
    TEXT_TOO_LONG = "text-too-long", "The text is longer than the gateway accepts."
    BAD_TEXT = "bad-text", "The text is not valid Unicode."
    UNSUPPORTED = "unsupported", "The channel's adapter cannot do that."
    BAD_POLL = "bad-poll", "The poll is invalid."
    DRY_RUN = "dry-run", "The send was a dry run: nothing was stored or sent."
    BAD_IDEMPOTENCY_KEY = "bad-idempotency-key", "The idempotency key is empty, or a text that cannot be stored."
    IDEMPOTENT_REPEAT = (
        "idempotent-repeat",
        "An earlier send had the same idempotency key; this one returns its result.",
    )
    # messages of bots and of the gateway itself
    OWN_ECHO = "own-echo", "The platform delivered what the gateway had posted itself, by a webhook or another account."
    BOT_IGNORED = "bot-ignored", "A bot or webhook wrote it, and the channel is configured to ignore those."
    BOUND_TO_OTHER_ACCOUNT = (
        "bound-to-other-account",
        "The conversation is bound through another account of the gateway, which answers.",
    )
    DUPLICATE_PROXY = "duplicate-proxy", "A proxy posted it in place of a message that was already received."
    # session bindings: why one won, lost, ended, or could not be made
    BOUND_SESSION = "bound-session", "The conversation is bound to a session, which receives its messages."
    BOUND_DESTINATION = (
        "bound-destination",
        "The session has a bound conversation, and its completion goes there and nowhere else.",
    )
    REQUESTER_MATCH = (
        "requester-match",
        "It is the requester's conversation, or the only bound one on that channel and account.",
    )
    SINGLE_ACTIVE_BINDING = (
        "single-active-binding",
        "The requester is unknown, and the session has exactly one bound conversation.",
    )
    SINGLE_ACTIVE_BINDING_FALLBACK = (
        "single-active-binding-fallback",
        "The session's only bound conversation is on another channel or account.",
    )
    MISSING_TARGET_SESSION = "missing-target-session", "No session was named."
    NO_ACTIVE_BINDING = "no-active-binding", "The session has no active binding."
    MISSING_REQUESTER = "missing-requester", "The requester is unknown, and destinations are not guessed."
    AMBIGUOUS_WITHOUT_REQUESTER = (
        "ambiguous-without-requester",
        "The requester is unknown, and several conversations are bound.",
    )
    INVALID_REQUESTER = "invalid-requester", "The requester has no channel or no conversation."
    NO_REQUESTER_MATCH = (
        "no-requester-match",
        "No bound conversation is the requester's, or the only one on that channel and account.",
    )
    OTHER_CONVERSATION = "other-conversation", "It belongs to another conversation than the one that is meant."
    NOT_ACTIVE = "not-active", "The binding is ending and accepts nothing new."
    UNBOUND = "unbound", "A peer or an operator unbound the conversation."
    REBOUND = "rebound", "The conversation was bound to another session."
    IDLE_EXPIRED = "idle-expired", "The bound conversation was idle for too long."
    MAX_AGE_EXPIRED = "max-age-expired", "The binding reached its maximum age."
    THREAD_ARCHIVED = "thread-archived", "The thread is archived and cannot be unarchived."
    THREAD_GONE = "thread-gone", "The thread was deleted or is no longer visible to the bot."
    BINDING_ADAPTER_UNAVAILABLE = (
        "binding-adapter-unavailable",
        "No adapter for that channel and account can bind conversations.",
    )
    BINDING_CAPABILITY_UNSUPPORTED = (
        "binding-capability-unsupported",
        "The adapter cannot bind a conversation in this way.",
    )
    BINDING_CREATE_FAILED = "binding-create-failed", "The platform could not create a conversation to bind."
    BOUND_BY_ANOTHER = "bound-by-another", "Another user bound the conversation."
    BAD_END_REASON = "bad-end-reason", "The reason that was given for an end is no text."
    BINDING_SELECTOR_MISSING = "binding-selector-missing", "Neither a binding nor a session was named."
    UNKNOWN_SESSION = "unknown-session", "There is no such session."
    BAD_TTL = "bad-ttl", "The time to live is not a positive number of seconds."
    IDENTITY_GONE = "identity-gone", "The webhook that should post the message is gone or may not be used."
    THREAD_NOTICE = (
        "thread-notice",
        "A notice, without its content, that a message could not be delivered to its thread.",
    )
    FAILED_NOTICE = (
        "failed-notice",
        "The configured notice, without its content, that an answer could not be delivered.",
    )
    DOUBT_NOTICE = "doubt-notice", "The configured notice, without its content, that an answer may not have arrived."
    CLOSED_NOTICE = (
        "closed-notice",
        "The configured notice, without its content, that an answer waits for its thread to open.",
    )
    # commands from peers to the gateway
    CONTROL_REPLY = "control-reply", "The gateway answers a command in the conversation where it was given."
    NOT_PERMITTED = "not-permitted", "The requester may not do that."
    UNKNOWN_COMMAND = "unknown-command", "There is no such command."
    # why a destination was chosen
    REPLY_TO_ORIGIN = "reply-to-origin", "The answer goes to the exact place that the message came from."
    REPLY_IN_OPENED_THREAD = (
        "reply-in-opened-thread",
        "Auto-thread is on: the answer goes to the thread opened on the message.",
    )
    EXPLICIT_TARGET = "explicit-target", "The agent named the target."
    CALLBACK_TURN = "callback-turn", "The hand's result becomes one turn of the requester's session."
    DIRECT_ANNOUNCE = "direct-announce", "The hand's result is posted unchanged, without a turn of the requester."
    HAND_SESSION_ROUTE = "hand-session-route", "The hand's own session resolved to this place."
    REQUESTER_REPLACED = (
        "requester-replaced",
        "The requester has another session meanwhile: the result is posted without a turn.",
    )
    CLIENT_SEND = "client-send", "A client of the gateway requested it, outside any turn."
    # why nothing is sent
    NO_REPLY = "no-reply", "The agent chose not to answer."
    NO_ORIGIN = (
        "no-origin",
        "The turn did not start from a conversation, so its text or its hand's result has no destination.",
    )
    ALREADY_QUEUED = "already-queued", "The same turn already queued the same intent (a re-run after a crash)."
    CALL_CHANGED = (
        "call-changed",
        "An earlier run of the turn delegated something else with the same call; that one counts.",
    )
    # turns and hands
    AGENT_RAISED = "agent-raised", "The agent raised an error; the turn ended without an answer."
    BAD_ANSWER = (
        "bad-answer",
        "The agent, or the model behind it, returned something unusable; the turn ended without an answer.",
    )
    AGENT_TIMEOUT = "agent-timeout", "The agent did not answer within its time limit."
    AGENT_UNREACHABLE = (
        "agent-unreachable",
        "The model, program or service behind the agent could not be reached, or refused the request.",
    )
    AGENT_BROKE_OFF = (
        "agent-broke-off",
        "The model, program or service behind the agent stopped in the middle of its answer.",
    )
    AGENT_REFUSED = "agent-refused", "The model declined to answer."
    TOO_MANY_CALLS = "too-many-calls", "The agent called tools more often than a turn allows."
    ANSWER_TOO_LONG = "answer-too-long", "The answer of the agent is longer than its limit allows."
    INPUT_TOO_LONG = (
        "input-too-long",
        "The message, with the prompts and tools of its turn, is longer than the agent takes.",
    )
    ERROR_NOTICE = "error-notice", "The configured notice that the agent failed and the message is not answered."
    PROMPT_FAILED = "prompt-failed", "The system prompts of the turn could not be composed, so the agent was not asked."
    BAD_ARGUMENT = "bad-argument", "An argument has the wrong type, or is a text that cannot be stored."
    TURN_OVER = "turn-over", "The turn had ended when its tool was called."
    RUNS_EXHAUSTED = "runs-exhausted", "The process died during every allowed run."
    RUNS_NOTICE = (
        "runs-notice",
        "A notice that the message is not answered, because the process died during every run of it.",
    )
    UNKNOWN_AGENT = "unknown-agent", "The route names an agent that is not installed."
    UNKNOWN_HAND = "unknown-hand", "The agent delegated to a hand that is not installed."
    HAND_RAISED = "hand-raised", "The hand raised an error."
    BAD_RESULT = "bad-result", "The hand returned something that is no text."
    HAND_DEADLINE = "hand-deadline", "The hand did not finish within its deadline."
    PROCESS_DIED = "process-died", "The process that ran it died."
    ALREADY_FINISHED = "already-finished", "A result was already stored; the first one counts."
    SELF_DELEGATION = "self-delegation", "An agent cannot delegate to itself."
    HAND_NOT_ALLOWED = "hand-not-allowed", "The configuration does not let this agent use that hand."
    DEPTH_EXCEEDED = "depth-exceeded", "Too many delegations stand one above the other."
    CHAIN_EXCEEDED = "chain-exceeded", "Too many turns have followed from each other without a new message of a person."
    SESSION_CAP = "session-cap", "The session has as many open delegations as it may have."
    GATEWAY_CAP = "gateway-cap", "The gateway has as many open delegations as it may have."
    CANCELLED_BY_AGENT = "cancelled-by-agent", "The agent that delegated it cancelled it."
    CANCELLED_BY_PEER = "cancelled-by-peer", "The person who asked cancelled it."
    CANCELLED_BY_OPERATOR = "cancelled-by-operator", "An operator cancelled it."
    PARENT_ENDED = "parent-ended", "The task that it was delegated for has ended, so nobody waits for it."
    UNKNOWN_DELEGATION = "unknown-delegation", "There is no such delegation."
    WRONG_TICKET = "wrong-ticket", "The answer does not have the ticket of the worker that took the task."
    NOT_A_WORKER = "not-a-worker", "The hand is not a worker: its own run gives the result."
    RESULT_TOO_LARGE = "result-too-large", "The result is longer than `hands.max_result`."
    CALLBACK_OFF = "callback-off", "The configuration has this outcome reported to nobody."
    ALREADY_SENT = "already-sent", "The turn already sent this text to the same place by the message tool."
    DISCARDED = "discarded", "An operator discarded the report."
    PASSED_ON = (
        "passed-on",
        "Passed on to its parent: the agent is a hand itself, and what it returned is part of its own result.",
    )
    RESERVED_SENDER = (
        "reserved-sender",
        "The sender begins with `hand:` or `agent:`, which no person may have; it was escaped.",
    )
    CALL_ENDED = "call-ended", "The call has ended, and nothing can be said in it any more."
    SECOND_CHANNEL = "second-channel", "The call has ended; the person gets it on the configured second channel."
    NO_SECOND_CHANNEL = (
        "no-second-channel",
        "The call has ended, and the person has no single place on the configured second channel.",
    )
    # delivery
    ACCEPTED = "accepted", "The platform accepted it."
    FOUND_BY_LOOKUP = "found-by-lookup", "A look-up found it on the platform."
    NOT_FOUND_BY_LOOKUP = (
        "not-found-by-lookup",
        "A look-up after the request's lifetime did not find it on the platform.",
    )
    LOOKUP_FAILED = "lookup-failed", "The look-up itself failed, which proves nothing."
    NOT_SENT = "not-sent", "The request provably never reached the platform."
    RATE_LIMITED = "rate-limited", "The platform asked to wait."
    PLATFORM_ERROR = "platform-error", "The platform did not accept it, for a reason that may be temporary."
    REFUSED = "refused", "The platform refused it for good."
    DELETED_BY_OTHERS = "deleted-by-others", "Somebody else has deleted the message on its platform."
    PLACE_GONE = "place-gone", "The conversation or thread no longer accepts messages."
    PLACE_CLOSED = "place-closed", "The thread is closed, and takes no messages until it is opened again."
    UNAUTHORIZED = "unauthorized", "The platform did not accept the account's token."
    RESPONSE_LOST = "response-lost", "The request was sent and no response came back: it may have been accepted."
    CRASH_AMBIGUOUS = "crash-ambiguous", "The process died while the request may have been on the wire."
    SAME_KEY_RESEND = (
        "same-key-resend",
        "Resent under the same key: the platform keeps only one, or a repeat harms nobody.",
    )
    ATTEMPTS_EXHAUSTED = "attempts-exhausted", "All allowed attempts were used."
    TOO_OLD = "too-old", "It is older than the age limit."
    NO_ADAPTER = "no-adapter", "No adapter is installed for that channel and account."
    PARKED = "parked", "Whether it was accepted cannot be known: parked for an operator, never resent silently."
    MISPLACED = "misplaced", "The platform accepted it, but the receipt shows another place than the requested one."
    RECOVERED = "recovered", "Found unfinished at start."
    NO_RECEIPT = (
        "no-receipt",
        "The response names no message, as this platform's responses must: it is no proof of delivery.",
    )
    KEY_EXPIRED = (
        "key-expired",
        "The platform has forgotten the idempotency key, so the chunk cannot be resent under it.",
    )
    MARKED_RESEND = "marked-resend", "It may have been accepted: the policy is to send it once more, visibly marked."
    GATEWAY_PATH = (
        "gateway-path",
        "The direct transport provably did not reach the platform: the gateway transport is used.",
    )
    NOT_READY = "not-ready", "The channel is not ready; waiting uses no attempt."
    PACED = "paced", "The configured rate limit for recovered messages is reached."
    # hooks
    KEPT_BY_HOOKS = "kept-by-hooks", "The hooks left it unchanged."
    MODIFIED_BY_HOOK = "modified-by-hook", "A hook changed it before it was stored."
    CANCELLED_BY_HOOK = "cancelled-by-hook", "A hook cancelled it: it is not sent and its text is not stored."
    EMPTY_AFTER_HOOK = "empty-after-hook", "The hooks left nothing visible."
    HOOK_RAISED = "hook-raised", "A hook raised an error: the message is sent without it unless the hook is required."
    BAD_HOOK_ANSWER = "bad-hook-answer", "A hook returned an invalid answer, which counts as an error of the hook."
    CHUNKER_FAILED = (
        "chunker-failed",
        "A chunker that the adapter or the channel's rules bring along failed; a built-in one was used.",
    )
    # operators, other processes
    OPERATOR_RETRY = "operator-retry", "An operator retried it."
    OPERATOR_SENT = "operator-sent", "An operator confirmed that the platform has it."
    OPERATOR_UNSENT = "operator-unsent", "An operator confirmed that the platform does not have it."
    ABANDONED = (
        "abandoned",
        "An operator gave it up while a chunk was in doubt: whether that was accepted stays unknown.",
    )
    SHOWN_AS_STORED = (
        "shown-as-stored",
        "A trace begins in the middle: this was so before, and the trace does not have why.",
    )
    LEASE_FREE = "lease-free", "No process holds the store."
    LEASE_EXPIRED = "lease-expired", "The process that holds the store has not renewed its lease in time."
    HOLDER_DEAD = "holder-dead", "The process that held the store is provably dead."
    LEASE_HELD = "lease-held", "Another process holds the store."
    STORE_ERROR = "store-error", "The store refused the write; it is retried."
    STORE_FILE = "store-file", "The store file is new beside what an earlier one left, or has several names."
    STORE_GONE = "store-gone", "The store file was deleted or replaced; the gateway ends."
    STORE_DAMAGED = "store-damaged", "The store file is damaged; the gateway ends."
    MIRROR_REFUSED = "mirror-refused", "The store refused the transcript line; the write is retried until it succeeds."
    BROKEN_ROW = "broken-row", "Its stored row cannot be read: it is set aside and blocks no other."
    CHANGED_ELSEWHERE = "changed-elsewhere", "Another process or an operator changed the stored row: it is read again."
    RETENTION = "retention", "It ended before the retention period of finished rows."
    # the message tool
    BAD_ACTION = "bad-action", "There is no such action, the channel does not have it, or its parameters are unusable."
    ACTION_DISABLED = "action-disabled", "The configuration does not allow this action."
    UNKNOWN_MESSAGE = "unknown-message", "The gateway knows no such message in this conversation."
    NOT_OWN_MESSAGE = "not-own-message", "Somebody else wrote the message."
    NOTHING_TO_CHANGE = "nothing-to-change", "The message that should be changed was never delivered."
    BAD_ATTACHMENT = "bad-attachment", "The attachment cannot be read."
    # the cross-context policy
    SAME_CONVERSATION = "same-conversation", "The target is the conversation that the turn works in."
    NOT_GUARDED = "not-guarded", "The policy does not judge this action."
    WITHIN_PROVIDER = "within-provider", "The target is another conversation of the same channel, which is allowed."
    ACROSS_PROVIDERS = "across-providers", "The target is on another channel, which is allowed."
    WITHOUT_ORIGIN = (
        "without-origin",
        "The turn works in no conversation, and the target is one that such turns may reach.",
    )
    CROSS_CONTEXT_DENIED = "cross-context-denied", "The policy does not allow a message from here to there."
    # heartbeat and schedule
    HEARTBEAT_TARGET = "heartbeat-target", "What the heartbeat returned goes to its configured target."
    DISABLED = "disabled", "The heartbeat is switched off, or has no interval."
    QUIET_HOURS = "quiet-hours", "It is outside of the active hours."
    REQUESTS_IN_FLIGHT = "requests-in-flight", "The session of the heartbeat is busy; it is tried again soon."
    CRON_IN_PROGRESS = (
        "cron-in-progress",
        "A scheduled turn of the agent is running; the heartbeat is tried again soon.",
    )
    LANES_BUSY = "lanes-busy", "Another turn of the agent is running; the heartbeat is tried again soon."
    EMPTY_HEARTBEAT_FILE = "empty-heartbeat-file", "The instructions of the heartbeat hold nothing to do."
    NO_TASKS_DUE = "no-tasks-due", "None of the tasks of the heartbeat is due."
    ALERTS_DISABLED = "alerts-disabled", "The configuration shows no alerts of heartbeats."
    DUPLICATE = "duplicate", "The heartbeat said the same within 24 hours."
    NO_TARGET = "no-target", "The heartbeat has no channel or nobody to write to."
    TARGET_NONE = "target-none", "The heartbeat is configured to deliver nothing."
    UNKNOWN_HEARTBEAT_ACCOUNT = "unknown-heartbeat-account", "The channel has no account of the configured name."
    ALLOW_FROM_FALLBACK = (
        "allow-from-fallback",
        "The configured person is not among the channel's recipients; the first of those is taken.",
    )
    DM_BLOCKED = "dm-blocked", "The heartbeat may not write to direct conversations."
    NO_ROUTE = "no-route", "The heartbeat has no conversation that it may write to."
    NOT_DUE = "not-due", "The heartbeat is not due yet."
    MIN_SPACING = "min-spacing", "The last heartbeat was too short a time ago."
    FLOOD = "flood", "Too many heartbeats started within a minute."
    AGENT_RUNNER_FAILURE = "agent-runner-failure", "The turn of the heartbeat failed."
    OK_EMPTY = "ok-empty", "The heartbeat returned nothing."
    OK_TOKEN = "ok-token", "The heartbeat returned that there is nothing to say."
    HEARTBEAT_DUE = "heartbeat-due", "The heartbeat is due."
    HEARTBEAT_WAKE = "heartbeat-wake", "Something woke the heartbeat."
    CRON_DUE = "cron-due", "An entry of the schedule is due."
    CRON_MISSED = "cron-missed", "An entry of the schedule was due while no process ran; it runs once."
    CRON_PAST = "cron-past", "The time of the entry had passed before a process first saw it; it does not run."
