"""The figures of the demo table: attributes, their values, and shares per mille.

All are rounded, from general knowledge of the United States' labour force in the 1990s, such as the
Census Bureau and the Bureau of Labor Statistics publish it: attainment, marital status by age and
sex, occupation by schooling, class of worker, hours, birthplace. Shares need not add up to 1000,
because they are normalised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

__all__ = [
    "BORN_ABROAD",
    "COUNTRIES",
    "DEMO_ATTRIBUTES",
    "DEMO_CATEGORIES",
    "DEMO_RANGES",
    "EDUCATION",
    "MARITAL_BY_AGE",
    "OCCUPATION_BY_EDUCATION",
    "PAY_OF_OCCUPATION",
    "RACE",
    "SEX",
    "WORKCLASS",
]

DEMO_ATTRIBUTES: Final = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
DEMO_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "age": (17, 90),
    "fnlwgt": (12_000, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_400),
    "hours-per-week": (1, 99),
}

EDUCATION: Final = {
    "Preschool": 2,
    "1st-4th": 5,
    "5th-6th": 10,
    "7th-8th": 18,
    "9th": 15,
    "10th": 27,
    "11th": 36,
    "12th": 13,
    "HS-grad": 325,
    "Some-college": 220,
    "Assoc-voc": 43,
    "Assoc-acdm": 33,
    "Bachelors": 167,
    "Masters": 55,
    "Prof-school": 17,
    "Doctorate": 12,
}
"""Shares of those aged 22 and over, in the order of education-num from 1 to 16.

Younger people are still at school.
"""
WORKCLASS: Final = {
    "Private": (795, 535, 590),
    "Self-emp-not-inc": (60, 270, 80),
    "Self-emp-inc": (33, 85, 33),
    "Federal-gov": (28, 24, 46),
    "Local-gov": (50, 48, 160),
    "State-gov": (33, 35, 90),
    "Without-pay": (1, 3, 1),
}
"""Shares of three groups: most people; farmers and people over 60, of whom many are self-employed;
professionals and protective services, of whom many work for the government.
"""
RACE: Final = {
    "White": 860,
    "Black": 93,
    "Asian-Pac-Islander": 29,
    "Amer-Indian-Eskimo": 10,
    "Other": 8,
}
SEX: Final = {"Male": 675, "Female": 325}
MARITAL: Final = (
    "Never-married",
    "Married-civ-spouse",
    "Divorced",
    "Separated",
    "Widowed",
    "Married-spouse-absent",
    "Married-AF-spouse",
)
MARITAL_BY_AGE: Final = {
    17: ((955, 35, 4, 3, 0, 3, 0), (900, 62, 12, 15, 1, 9, 1)),
    25: ((470, 430, 65, 20, 1, 13, 1), (400, 350, 150, 65, 7, 25, 3)),
    35: ((180, 640, 130, 28, 3, 19, 0), (200, 370, 290, 85, 25, 29, 1)),
    50: ((70, 770, 110, 22, 12, 16, 0), (110, 400, 290, 55, 120, 25, 0)),
    65: ((55, 790, 65, 12, 60, 18, 0), (90, 250, 160, 30, 450, 20, 0)),
}
"""Shares for men and for women, by the age from which they hold."""
RELATIONSHIP: Final = (
    "Husband",
    "Wife",
    "Own-child",
    "Not-in-family",
    "Unmarried",
    "Other-relative",
)
OCCUPATION: Final = (
    "Craft-repair",
    "Prof-specialty",
    "Exec-managerial",
    "Adm-clerical",
    "Sales",
    "Other-service",
    "Machine-op-inspct",
    "Transport-moving",
    "Handlers-cleaners",
    "Farming-fishing",
    "Tech-support",
    "Protective-serv",
    "Priv-house-serv",
    "Armed-Forces",
)
OCCUPATION_BY_EDUCATION: Final = (
    (
        (240, 8, 40, 25, 60, 110, 160, 120, 130, 85, 3, 12, 2, 1),
        (40, 10, 30, 130, 130, 370, 150, 15, 45, 20, 4, 6, 50, 0),
    ),
    (
        (265, 15, 85, 55, 95, 70, 120, 110, 85, 60, 12, 26, 1, 1),
        (30, 25, 90, 330, 130, 230, 90, 15, 25, 10, 15, 9, 11, 0),
    ),
    (
        (190, 60, 145, 90, 130, 60, 60, 60, 60, 35, 50, 55, 1, 2),
        (15, 90, 120, 390, 120, 150, 25, 8, 12, 5, 50, 12, 3, 0),
    ),
    (
        (60, 250, 290, 65, 180, 25, 15, 15, 12, 25, 35, 27, 0, 1),
        (8, 360, 210, 210, 110, 50, 8, 3, 4, 4, 28, 5, 0, 0),
    ),
    (
        (15, 610, 240, 20, 60, 8, 5, 4, 3, 12, 13, 9, 0, 1),
        (3, 700, 160, 75, 30, 15, 2, 1, 1, 2, 10, 1, 0, 0),
    ),
)
"""Shares for men and for women: no diploma, high school, some college, bachelor, more."""
COUNTRIES: Final = {
    "Mexico": (330, 30, 0, 60, 350),
    "Canada": (65, 8, 4, 30, 2),
    "Germany": (65, 25, 2, 10, 5),
    "Cuba": (55, 18, 0, 0, 5),
    "England": (48, 20, 2, 0, 3),
    "El-Salvador": (45, 8, 0, 0, 60),
    "Puerto-Rico": (45, 40, 2, 0, 130),
    "Italy": (40, 0, 0, 0, 2),
    "Poland": (35, 0, 0, 0, 1),
    "Guatemala": (28, 4, 0, 10, 40),
    "Columbia": (24, 10, 0, 0, 40),
    "Dominican-Republic": (20, 60, 0, 0, 140),
    "Portugal": (20, 2, 0, 0, 8),
    "Nicaragua": (17, 8, 0, 0, 15),
    "Greece": (17, 0, 0, 0, 1),
    "Ireland": (16, 0, 0, 0, 1),
    "France": (16, 3, 3, 0, 1),
    "Ecuador": (13, 3, 0, 20, 40),
    "Peru": (13, 3, 0, 10, 25),
    "Iran": (24, 0, 18, 0, 15),
    "Yugoslavia": (9, 0, 0, 0, 1),
    "Hungary": (8, 0, 0, 0, 0),
    "Scotland": (8, 0, 0, 0, 0),
    "Holand-Netherlands": (2, 0, 0, 0, 0),
    "Jamaica": (4, 260, 3, 0, 20),
    "Haiti": (2, 200, 0, 0, 8),
    "Trinadad&Tobago": (2, 70, 8, 0, 20),
    "Honduras": (6, 8, 0, 5, 8),
    "South": (5, 5, 210, 0, 5),
    "China": (3, 0, 190, 0, 2),
    "India": (7, 6, 220, 0, 20),
    "Philippines": (8, 8, 430, 20, 10),
    "Vietnam": (2, 0, 140, 0, 3),
    "Japan": (14, 8, 95, 0, 3),
    "Taiwan": (1, 0, 100, 0, 2),
    "Hong": (1, 0, 48, 0, 2),
    "Cambodia": (0, 0, 45, 0, 2),
    "Thailand": (1, 4, 40, 0, 2),
    "Laos": (0, 0, 42, 0, 2),
    "Outlying-US(Guam-USVI-etc)": (2, 45, 20, 5, 3),
}
"""Countries of those born abroad: shares by race in the order of RACE."""
BORN_ABROAD: Final = (0.07, 0.08, 0.68, 0.03, 0.55)
"""Share of those born abroad, by race."""
DEMO_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "workclass": tuple(WORKCLASS),
    "education": tuple(EDUCATION),
    "marital-status": MARITAL,
    "occupation": OCCUPATION,
    "relationship": RELATIONSHIP,
    "race": tuple(RACE),
    "sex": tuple(SEX),
    "native-country": ("United-States", *COUNTRIES),
    "income": ("<=50K", ">50K"),
}
PAY_OF_OCCUPATION: Final = np.array(
    [0.2, 0.6, 0.9, 0.0, 0.3, -0.9, -0.3, -0.1, -0.7, -1.1, 0.6, 0.5, -2.0, 0.0]
)
"""What an occupation adds to the log-odds of an income of more than 50K."""
