"""What operators ask of a store, as values. A store file and a running gateway answer the same queries."""
