"""Pages of a run of `trunkline attach`: findings and the matrix, as Markdown and as HTML."""
