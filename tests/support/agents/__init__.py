"""Programs and services that tests attach as agents."""
