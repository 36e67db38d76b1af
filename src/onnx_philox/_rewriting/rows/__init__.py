"""What is known of where each row of a batch is, and what operators do to it: of both formats."""
