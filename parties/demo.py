"""x."""

DEMO_ROWS = 45_222


def demo_table(rows, *, seed=0):
    import numpy as np
    import pandas as pd

    g = np.random.default_rng(seed)
    return pd.DataFrame({"sex": g.choice(["Male", "Female"], rows), "income": g.choice(["<=50K", ">50K"], rows)})
