"""Which SQL function handles which command and query."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.store import commands, cursors, delegations, mailbox, queries, schedule
from trunkline.core.store.commands import Write
from trunkline.core.store.operators import bindings as operators_bindings
from trunkline.core.store.operators import hands as operators_hands
from trunkline.core.store.operators import holder as operators_holder
from trunkline.core.store.operators import present as operators_present
from trunkline.core.store.operators import queue as operators_queue
from trunkline.core.store.operators import sessions as operators_sessions
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite.sql import (
    bindings,
    bulk_writes,
    ends,
    intent_reads,
    intents,
    queue,
    session_lookup,
    session_moves,
    sessions,
    transcript,
    unfinished,
    work,
)
from trunkline.core.store.sqlite.sql import cursors as cursors_sql
from trunkline.core.store.sqlite.sql import schedule as schedule_sql
from trunkline.core.store.sqlite.sql.callbacks import callback_states, posts, results
from trunkline.core.store.sqlite.sql.changes.messages import find_message
from trunkline.core.store.sqlite.sql.hands import delegations as delegations_sql
from trunkline.core.store.sqlite.sql.hands import reads as delegation_reads
from trunkline.core.store.sqlite.sql.hands import retries, workers
from trunkline.core.store.sqlite.sql.mailbox import outcomes, posted
from trunkline.core.store.sqlite.sql.operators import bindings as bindings_overview
from trunkline.core.store.sqlite.sql.operators import hands as hands_overview
from trunkline.core.store.sqlite.sql.operators import holder as holder_sql
from trunkline.core.store.sqlite.sql.operators import present
from trunkline.core.store.sqlite.sql.operators import queue as queue_overview
from trunkline.core.store.sqlite.sql.operators import sessions as session_pages

A = TypeVar("A")
Handler = Callable[[sqlite3.Connection, Any], Any]


class BulkHandler(msgspec.Struct, frozen=True):
    """Handles many commands of one type at once; `takes` says of a command whether it can be among them."""

    handle: Callable[[sqlite3.Connection, Sequence[Any]], list[Any]]
    takes: Callable[[Any], bool]


class RunSql(Write[A], frozen=True, kw_only=True):
    """A write that only SQLite understands: the lease, and the defects of the simulator."""

    op: Callable[[sqlite3.Connection], A]


class ReadSql(Read[A], frozen=True, kw_only=True):
    """A query that only SQLite understands."""

    op: Callable[[sqlite3.Connection], A]


HANDLERS: Mapping[type[Write[Any]], Handler] = {
    commands.Admit: work.admit,
    commands.BeginRun: work.begin_run,
    commands.CountRuns: work.count_runs,
    commands.FinishTurn: work.finish_turn,
    commands.Enqueue: lambda c, command: intents.insert_intent(c, command.intent, command.now),
    commands.BeginSend: intents.begin_send,
    commands.MarkSending: intents.mark_sending,
    commands.AckChunk: intents.ack_chunk,
    commands.Misplace: ends.misplace,
    commands.Defer: intents.defer,
    commands.EndIntent: ends.end_intent,
    commands.StoreMirror: ends.store_mirror,
    commands.EndUnreadableIntent: ends.end_unreadable,
    commands.MarkNotified: intents.mark_notified,
    delegations.AcceptDelegation: delegations_sql.accept_delegation,
    delegations.StartDelegation: delegations_sql.start_delegation,
    delegations.FinishDelegation: delegations_sql.finish_delegation,
    delegations.TakeTask: workers.take_task,
    delegations.NoteProgress: workers.note_progress,
    delegations.ChangeCallback: callback_states.change,
    delegations.BeginCallback: callback_states.begin,
    delegations.RetryCallback: retries.retry_callback,
    delegations.PostToGateway: posts.post_to_gateway,
    delegations.DropPost: posts.drop_post,
    commands.SetAsideBroken: delegations_sql.set_aside_broken,
    commands.EnsureSession: sessions.ensure_session,
    commands.ResetSession: sessions.reset_session,
    commands.MigrateKeys: session_moves.migrate_keys,
    commands.Bind: bindings.bind,
    commands.ChangeBinding: bindings.change,
    commands.TouchBinding: lambda c, command: bindings.touch(c, command.binding, command.at),
    commands.RetryIntent: queue.retry,
    commands.ResolveIntent: queue.resolve,
    commands.PurgeIntents: queue.purge,
    commands.TakeNudges: queue.take_nudges,
    commands.Prune: queue.prune,
    mailbox.PostToMailbox: posted.post,
    cursors.SaveCursor: cursors_sql.save,
    schedule.SetTimer: schedule_sql.set_timer,
    schedule.Fire: work.fire,
    schedule.AddSystemEvent: schedule_sql.add_system_event,
    operators_queue.ChangeQueue: queue_overview.change_queue,
    RunSql: lambda c, sql: sql.op(c),
}

#: the types that are done in bulk touch different rows, so their order among each other does not matter
BULK: Mapping[type[Write[Any]], BulkHandler] = {
    commands.BeginSend: BulkHandler(bulk_writes.begin_sends, bulk_writes.is_first_try),
    commands.AckChunk: BulkHandler(bulk_writes.ack_last_chunks, bulk_writes.is_plain_end),
    commands.MarkNotified: BulkHandler(bulk_writes.mark_notified, lambda _: True),
}

QUERIES: Mapping[type[Read[Any]], Handler] = {
    queries.LoadUnfinished: unfinished.load_unfinished,
    delegations.FindDelegation: unfinished.find_delegation,
    queries.ListOpenIntents: intent_reads.list_open,
    queries.LoadIntents: intent_reads.load,
    queries.FindIntentFate: lambda c, query: intent_reads.fate_of(c, query.intent),
    queries.FindMessage: find_message,
    queries.FindSend: lambda c, query: intent_reads.latest_send(c, query.key),
    queries.ListDueMirrors: intent_reads.list_due_mirrors,
    queries.ListUnnotified: intent_reads.list_unnotified,
    queries.FindSession: session_lookup.find_session,
    queries.FindRequester: session_lookup.find_requester,
    queries.ReadTranscript: transcript.read_transcript,
    queries.ListBindings: bindings.list_bindings,
    queries.FindBinding: lambda c, query: bindings.find(c, "id = ?", query.binding),
    queries.FindBindingOfRequest: lambda c, query: bindings.find(c, "request = ?", query.request),
    queries.ListOwnWebhooks: bindings.list_own_webhooks,
    queries.CountOpenByBinding: bindings.count_open,
    queries.ListIntents: queue.list_intents,
    queries.CountIntents: queue.count_intents,
    queries.CountPurgeable: queue.count_purgeable,
    queries.ShowIntent: queue.show_intent,
    queries.HasNudges: queue.has_nudges,
    delegations.ListDelegations: delegation_reads.list_delegations,
    delegations.CountDelegations: delegation_reads.count_delegations,
    delegations.ShowDelegation: delegation_reads.show_delegation,
    delegations.FindCallback: lambda c, query: callback_states.state_of(c, query.delegation),
    delegations.ReadResult: results.read_result,
    delegations.HasPosts: posts.has_posts,
    delegations.ReadPosts: posts.read_posts,
    mailbox.ReadMailbox: posted.read_mailbox,
    cursors.FindCursor: cursors_sql.find,
    mailbox.FindInbound: outcomes.find_inbound,
    mailbox.ReadOutcome: outcomes.read_outcome,
    mailbox.ReadOutcomes: outcomes.read_outcomes,
    schedule.ListTimers: schedule_sql.list_timers,
    schedule.ListSystemEvents: schedule_sql.list_system_events,
    schedule.ListWaitingAgents: schedule_sql.list_waiting_agents,
    schedule.FindLastRoute: schedule_sql.find_last_route,
    schedule.FindSaid: schedule_sql.find_said,
    operators_queue.ReadQueueOverview: queue_overview.read_overview,
    operators_queue.InspectIntent: queue_overview.inspect,
    operators_present.ReadPresent: present.read_present,
    operators_holder.FindHolder: lambda c, query: holder_sql.holder_of(c, query.now),
    operators_hands.ReadHandsOverview: hands_overview.read_overview,
    operators_hands.InspectDelegation: hands_overview.inspect,
    operators_bindings.ReadBindingsOverview: bindings_overview.read_overview,
    operators_sessions.ReadSessions: session_pages.read_sessions,
    operators_sessions.DescribeSession: session_pages.describe_session,
    operators_sessions.ReadTranscriptPage: session_pages.read_transcript_page,
    ReadSql: lambda c, sql: sql.op(c),
}


def execute(c: sqlite3.Connection, command: Write[A]) -> A:
    """Run a command inside a transaction of the caller."""
    return HANDLERS[type(command)](c, command)


def ask(c: sqlite3.Connection, query: Read[A]) -> A:
    """Answer a query."""
    return QUERIES[type(query)](c, query)
