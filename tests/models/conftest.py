"""The scripts beside the models need torch, which the tests do without."""

collect_ignore_glob = ["export_*.py"]
