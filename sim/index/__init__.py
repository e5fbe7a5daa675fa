"""The index of a run: facts folded from the trace, for invariants, views and reports."""
