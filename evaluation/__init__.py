"""The judge, who stands outside and sees both the real table and what was published."""

from .judge import evaluate, judge, judge_marginals
from .utility import Evaluation, TableComparison, Utility

__all__ = ["Evaluation", "TableComparison", "Utility", "evaluate", "judge", "judge_marginals"]
