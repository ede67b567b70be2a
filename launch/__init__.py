"""How it starts and what the person sees."""
