"""Commands on a store file: queue, bindings, transcript."""
