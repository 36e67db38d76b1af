"""What is put in the place of a random node."""
