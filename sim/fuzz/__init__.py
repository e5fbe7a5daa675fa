"""Random scenarios: made from a seed, played, judged beside the invariants by an oracle, and made smaller."""
