"""What the prompt offers while one types: files after `@`, commands after `/`."""
