"""Mutation testing: change one thing in a module, and see whether a test fails.

`make mutants` runs it; CONTRIBUTING.md says how, and what was measured.
"""
