"""The black-box invariants: promises of any gateway, judged by what people saw and what arrived on the wire."""
