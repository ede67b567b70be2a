"""What a person sees of runs: the report, the folder of files, pages, charts, comparisons, terminal
tables.
"""
