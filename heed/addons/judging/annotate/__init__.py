"""Judging in the browser: store, server, page, agreement."""
