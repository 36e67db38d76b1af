"""The tests, in rooms: README.md says where a new one goes."""
