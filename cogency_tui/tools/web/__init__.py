"""The tools `fetch` and `web_search`."""
