"""Models of OpenVINO in memory, and how they are run."""
