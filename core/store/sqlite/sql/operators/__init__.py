"""The SQL of what operators ask: overviews with totals, one row with all its facts, changes of the queue."""
