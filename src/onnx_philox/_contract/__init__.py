"""The declaration of the operators, and the checks of their inputs that every backend makes."""
