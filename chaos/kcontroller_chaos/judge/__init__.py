"""From a history to a verdict, and what a person is shown of it."""
