"""Models in an inference pipeline: seeds for requests, and states that are carried."""
