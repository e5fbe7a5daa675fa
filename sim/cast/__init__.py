"""The scripted participants of a run: people, clients, agents, hands, hooks."""
