"""What `trunkline attach` does around single tries: gateways, cells, tries in parallel, results, reports."""
