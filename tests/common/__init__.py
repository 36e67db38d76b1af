"""What several rooms use: models, runtimes, operators, the command, processes."""
