"""Mutation testing: change one thing in a module, and see whether a test fails.

`make mutants` runs it; CONTRIBUTING.md says how, and what was measured. By their documentation,
mutmut changes only what is in functions and writes its mutants below the tree, and Cosmic Ray runs
one test command for every mutant, whatever it changed.
"""
