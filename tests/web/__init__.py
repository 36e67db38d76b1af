"""The browser and Node.js: the page of examples/web, the npm package, pages of `--html`."""
