"""Questions of operators to a store, as values. A store file and a running gateway answer the same queries."""
