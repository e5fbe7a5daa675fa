"""`trunkline attach` around single tries: gateways, cells, tries in parallel, results, reports."""
