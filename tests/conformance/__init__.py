"""Tables of decisions that OpenClaw makes, and their comparison with ours under the `openclaw` profiles.

A table is a JSON list of cases: `given`, and what is to `expect` of 2026-03-26. A case that is verified for August 2026
only runs under `openclaw-2026-08`, everything else under `openclaw`. ``differs["2026-08"]`` of a case names the fields
that August changed; it is one more check, under `openclaw-2026-08`.

``differs["2026-01-27"]`` is history (the word ``dm``, another default channel) and is not reproduced, and neither is
``differs["plugin-resolver"]``, where two resolvers of one version disagree. What a ``differs`` says in a note alone is
for people; `test_bindings_rules` has tests for it.

``python -m tests.conformance FILE...`` runs any file of this form.
"""
