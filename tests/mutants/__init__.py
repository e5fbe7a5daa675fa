"""Small defects made from the syntax trees of core, and which of them scenarios and invariants find: `make mutants`."""
