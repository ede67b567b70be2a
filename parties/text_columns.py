"""Proposals for columns of texts: categories, or the reason to leave a column out.

- Texts are identifiers if more than half of the rows have one that no other row has, and free text
  if they have five words on average.
- With more than 16 different texts, one that fewer than 10 rows have counts as "(other)": noise at
  an epsilon of 1 hides 10 rows in most tables of pairs, and a list with the text of one person
  would publish it.
- Spellings are merged if they differ in case, blanks, hyphens, underscores or a dot at the end. An
  initial is merged with the one word that begins with it, where every initial has one. Words of two
  letters may be codes, as AB is beside A and B, so of these only answers such as "no" have an
  initial. A typing error is not merged: "stage II" and "stage III" differ by one letter, too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from .categories import Categories
from .profile import ColumnProfile
from .proposal import EXAMPLES, FEW, Proposal, listed, missing_of, name_identifies
from .rules import MISSING_TEXTS

__all__ = ["MAX_CATEGORIES", "normal_form", "propose_texts"]

MAX_CATEGORIES: Final = 64
"""Categories of texts that are listed."""
MIN_LABEL_ROWS: Final = 10
MIN_WORDS: Final = 5
"""Words of a free text, on average."""
OTHER: Final = "(other)"
BOOLEANS: Final = ("False", "True")
SHORT_ANSWERS: Final = frozenset({"no", "ja", "si", "sí", "da"})
"""Words of two letters that have an initial."""
SAME_ANSWERS: Final = (
    ("f", "w", "female", "weiblich", "woman", "frau", "femme", "féminin"),
    ("m", "h", "male", "männlich", "maennlich", "man", "mann", "homme", "masculin"),
    ("y", "j", "yes", "ja", "oui", "si", "sí"),
    ("n", "no", "nein", "non"),
)
"""Words for the same answer, in the languages of questionnaires that are merged most often."""
ROMAN: Final = re.compile("[ivx]+")
MISSING_MARKS: Final = frozenset(
    {text.casefold() for text in MISSING_TEXTS if text != "None"}
    | {"-", "--", "---", ".", "??", "#n/a"}
)
"""Texts that stand for a missing category. "Unknown" and "none" are answers."""


def propose_texts(profile: ColumnProfile, texts: Mapping[str, int]) -> Proposal:
    """Propose categories, or say why there are none."""
    codes = [text for text in texts if text.strip().casefold() in MISSING_MARKS]
    values = Counter({text: count for text, count in texts.items() if text not in codes})
    missing = missing_of(profile, codes)
    if not values:
        return Proposal(name=profile.name, rule=None, reason="it has no values")
    remarks = [f"taken for missing: {listed(codes, texts)}"] if codes else []
    if reason := _text_reason(profile, values):
        return Proposal(name=profile.name, rule=None, reason=reason)
    spellings = _merge_spellings(values)
    if spellings:
        pairs = [f"{text!r} = {label!r}" for text, label in spellings.items()][:EXAMPLES]
        more = f" and {len(spellings) - EXAMPLES} more" if len(spellings) > EXAMPLES else ""
        remarks.append(f"spellings merged: {', '.join(pairs)}{more}")
    sums: Counter[str] = Counter()
    for text, count in values.items():
        sums[spellings.get(text, text)] += count
    if {*sums} <= {*BOOLEANS}:
        rule = Categories(categories=BOOLEANS, kind="booleans", spellings=spellings, **missing)
        return Proposal(
            name=profile.name, rule=rule, reason="true or false", remarks=tuple(remarks)
        )
    categories, more = _listed_categories(profile, sums, spellings, missing)
    if categories is None:
        return Proposal(name=profile.name, rule=None, reason=more)
    count = len(categories.categories)
    if len(categories.labels) == 1:
        remarks.append("every row has this label: drop the column, or list what else there may be")
    return Proposal(
        name=profile.name,
        rule=categories,
        reason="1 category" if count == 1 else f"{count} categories",
        remarks=(*remarks, *_perhaps_the_same(sums), *filter(None, [more])),
    )


def _listed_categories(
    profile: ColumnProfile,
    sums: Counter[str],
    spellings: Mapping[str, str],
    missing: Mapping[str, Any],
) -> tuple[Categories | None, str]:
    """List the frequent texts, with a remark; `None` and the reason if they are too few."""
    kept, has_other = _listed_labels(sums)
    share = sum(sums[label] for label in kept) / sums.total()
    if share < 1 / 2:
        return None, (
            f"{profile.different_text} different texts, of which no {MAX_CATEGORIES} have half "
            "of the rows: make groups of them"
        )
    remark = ""
    if has_other:
        rare = len(sums) - len(kept)
        texts = "1 rare text" if rare == 1 else f"{rare:,} rare texts"
        remark = f"{texts}, {1 - share:.2%} of the rows: {OTHER}"
    labels = tuple(sorted(kept, key=_natural))
    rule = Categories(
        categories=labels,
        other=OTHER if has_other else None,
        spellings={text: label for text, label in spellings.items() if label in labels},
        **missing,
    )
    return rule, remark


def _text_reason(profile: ColumnProfile, values: Counter[str]) -> str:
    """Say why texts are no categories; empty if they are."""
    if len(values) <= FEW:
        return ""
    words = sum(len(text.split()) * count for text, count in values.items()) / values.total()
    if words >= MIN_WORDS:
        return f"free text, {words:.0f} words on average, {profile.different_text} different"
    if sum("@" in text for text in values) * 2 > len(values):
        return f"an identifier: {profile.different_text} different addresses"
    if profile.is_mostly_unique:
        return (
            f"an identifier: {profile.different_text} different texts in {profile.rows:,} rows, "
            "most of which occur once"
        )
    if name_identifies(profile.name):
        return f"an identifier, as its name says, with {profile.different_text} different texts"
    return ""


def normal_form(text: str) -> str:
    """Give what spellings of a word have in common."""
    return re.sub(r"[\s\u00a0_-]+", " ", text.strip().rstrip(".").casefold()).strip()


def _merge_spellings(values: Counter[str]) -> dict[str, str]:
    """Map spellings of a word to the most frequent one, without blanks around it."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    words = _initials({normal_form(text) for text in values})
    for text, count in values.items():
        form = normal_form(text)
        counts[words.get(form, form)][text] += count
    if {*counts} <= {"true", "false"}:
        labels = {form: form.capitalize() for form in counts}
    else:
        labels = {
            form: spellings.most_common(1)[0][0].strip() for form, spellings in counts.items()
        }
    return {
        text: labels[form]
        for form, spellings in counts.items()
        for text, _ in spellings.most_common()
        if text != labels[form]
    }


def _initials(forms: set[str]) -> dict[str, str]:
    """Find the word of each initial: m is male where the words are male and female.

    Every initial must have one word, and every word another initial.
    """
    initials = {form for form in forms if len(form) == 1 and form.isalpha()}
    words = sorted(form for form in forms if len(form) > 2 or form in SHORT_ANSWERS)
    firsts = Counter(word[0] for word in words)
    if len(words) < 2 or max(firsts.values()) > 1 or not initials <= firsts.keys():
        return {}
    return {initial: next(word for word in words if word[0] == initial) for initial in initials}


def _perhaps_the_same(sums: Counter[str]) -> list[str]:
    """Name labels that may be one: short forms, words for the same, typing errors.

    Nothing is merged, as the person knows better: w may be weiblich, or west.
    """
    pairs = [*_short_forms(sums), *_typing_errors(sums)]
    if not pairs:
        return []
    return [f"perhaps the same, then add them to spellings: {', '.join(pairs[:EXAMPLES])}"]


def _short_forms(sums: Counter[str]) -> list[str]:
    """Name labels of one letter with the one word that begins with it, and words for the same."""
    forms = {normal_form(label): label for label in sorted(sums)}
    pairs = []
    for form, label in sorted(forms.items()):
        words = [word for word in forms if len(word) > 2 and word.startswith(form)]
        is_initial = len(form) == 1 and form.isalpha() and len(words) == 1
        if is_initial and not ROMAN.fullmatch(words[0]):
            pairs.append(f"{label!r} and {forms[words[0]]!r}")
    for group in SAME_ANSWERS:
        labels = [forms[form] for form in group if form in forms]
        pairs += [f"{first!r} and {second!r}" for first, second in pairwise(labels)]
    return [*dict.fromkeys(pairs)]


def _typing_errors(sums: Counter[str]) -> list[str]:
    """Name rare texts that differ from a frequent one by a letter."""
    if len(sums) > MAX_CATEGORIES * MAX_CATEGORIES:
        return []
    frequent = [label for label, count in sums.most_common(MAX_CATEGORIES) if len(label) >= 5]
    return [
        f"{text!r} and {label!r}"
        for text, count in sums.items()
        for label in frequent
        if count * 100 <= sums[label] and _differ_by_a_letter(text, label)
    ]


def _differ_by_a_letter(first: str, second: str) -> bool:
    """Tell whether a letter is missing, too many, another one, or two are in the wrong order."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return False
    start = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    rest, changed = first[start:], second[start:]
    return (
        rest[1:] == changed[1:]
        or rest[1:] == changed
        or rest == changed[1:]
        or (rest[:2] == changed[:2][::-1] and rest[2:] == changed[2:])
    )


def _listed_labels(sums: Counter[str]) -> tuple[list[str], bool]:
    """Choose the labels that are listed, and tell whether others are left."""
    if len(sums) <= FEW:
        return list(sums), False
    kept = [
        label for label, count in sums.most_common(MAX_CATEGORIES - 1) if count >= MIN_LABEL_ROWS
    ]
    if len(kept) == len(sums) - 1:
        last = next(label for label in sums if label not in kept)
        if sums[last] >= MIN_LABEL_ROWS:
            kept.append(last)
    return kept, len(kept) < len(sums)


def _natural(text: str) -> list[tuple[int, float, str]]:
    """Sort texts by the numbers in them: 9-10 comes before 10-11."""
    return [
        (0, float(part), "") if part.isdecimal() else (1, 0.0, part)
        for part in re.split(r"(\d+)", text)
        if part
    ]
