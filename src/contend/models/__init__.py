"""Records: pydantic models without I/O. Each loads again from its own JSON unchanged."""
