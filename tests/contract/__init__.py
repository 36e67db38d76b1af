"""What operators and public functions promise: declarations, versions, shapes, refusals."""
