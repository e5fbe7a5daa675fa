"""The message tool: its actions, what each needs, which channels have it, and what an agent gets back."""
