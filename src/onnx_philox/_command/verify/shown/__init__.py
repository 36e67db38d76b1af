"""What `onnx-philox verify` shows: on the terminal, as JSON and as a page.

`matrix` sorts the results, `printed` and `table` print them. `page` writes a page, with `pictures`
of `samples`.
"""
