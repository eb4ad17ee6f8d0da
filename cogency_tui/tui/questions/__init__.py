"""Questions of the engine to the user: permissions and budgets."""
