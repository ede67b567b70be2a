"""The outside judge, who sees both the truth and the release."""

from .judge import evaluate, judge, judge_marginals

__all__ = ["evaluate", "judge", "judge_marginals"]
