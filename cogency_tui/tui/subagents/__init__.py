"""The agents of the conversation as a tree, and the prompt, messages, cost and files of each (`/agents`)."""
