"""Who takes part in a run: people, clients, agents, hands, hooks."""
