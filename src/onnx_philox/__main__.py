"""`python -m onnx_philox`: the command, where its script is not on the path."""

from onnx_philox._command.app import app

if __name__ == "__main__":
    app()
