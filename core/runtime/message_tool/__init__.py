"""The message tool at work: places and policy, then messages and changes to the queue, questions to adapters."""
