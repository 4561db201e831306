"""Built-in references, read as text and only ever executed inside the sandbox."""
