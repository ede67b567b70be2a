"""Many runs: sweeps, datasets, and the papers' tables and figures made again.

How a run is started is an argument, because that is the business of the rooms above.
"""
