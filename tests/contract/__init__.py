"""What operators and doors promise: declarations, versions, shapes, refusals."""
