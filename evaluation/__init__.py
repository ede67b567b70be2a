"""The outside judge, who sees both the truth and the release."""
