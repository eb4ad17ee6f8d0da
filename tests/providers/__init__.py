"""Tests of the model endpoints, over real sockets on 127.0.0.1."""
