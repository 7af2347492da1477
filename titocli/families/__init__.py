"""Family contracts, the template environment, the renderer, boundary rules and response parsers."""
