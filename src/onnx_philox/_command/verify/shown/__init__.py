"""What `onnx-philox verify` shows: on the terminal, as JSON and as a page.

`matrix` sorts the results; `verification_printed` and `vectors_table` print them.
`verification_page` writes a page, with pictures of `samples`.
"""
