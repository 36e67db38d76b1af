"""Servers, data engines and pipelines of others, on their real packages."""
