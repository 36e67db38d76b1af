"""What is allowed: the declaration of the operators, and the rules that every backend checks."""
