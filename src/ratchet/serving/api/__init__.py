"""The operations over HTTP (extra `serve`). `app.create` makes the application, `ratchet serve` runs it."""
