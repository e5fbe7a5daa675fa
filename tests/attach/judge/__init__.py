"""What the judge says about recorded wires, and about stories of gateways with one defect."""
