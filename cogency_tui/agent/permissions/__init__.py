"""Permission to run a call: rules, grants, questions, and taint by untrusted content."""
