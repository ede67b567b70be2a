"""Lines that send what no release covers are found in the source, right programs have none."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sottovoce.protocols
from sottovoce import Protocol
from sottovoce.launch.flow_passages import Passage
from sottovoce.launch.record_flow import passages_in, remarks_on_source
from sottovoce.launch.rehearsal import rehearse
from sottovoce.protocols.dp_subn.as_printed import AsPrinted
from sottovoce.report.not_accounted import rehearsal_texts
from sottovoce.runs.job import Job
from sottovoce.runs.record import Unaccounted

MODULE = """
import contextlib
import csv
import functools
import heapq
import io
import json
import logging
import re
import sqlite3
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import numpy as np

from sottovoce import CURATOR, Curator, Options, Outcome, Party, Protocol, laplace, message
from sottovoce import above_threshold, real_sum


LOG = logging.getLogger(__name__)
CACHE = []
SEEN = {}
TOTAL = 0


def total_so_far():
    return TOTAL


@dataclass
class Pair:
    public: object
    secret: object


class Two(NamedTuple):
    public: object
    secret: object = 0


def older(ages, than):
    return int((ages > than).sum())


def doubled(value):
    return 2 * value


def answer_with(me, kind, value):
    me.send(kind(value), to=CURATOR)


class Noiser:
    def __init__(self, me, epsilon):
        self.me = me
        self.epsilon = epsilon

    def count(self, value):
        mechanism = laplace(value, sensitivity=1, epsilon=self.epsilon)
        return self.me.release(mechanism, to=CURATOR)


class Table:
    bins = 10

    def __init__(self, me):
        self.ages = me.records.column("age").astype(int)
        self.read = 0

    @property
    def total(self):
        return self.ages.sum()

    def mean(self):
        return self.ages.mean()


class Check:
    def __init__(self):
        self.odd = False

    def look(self, ages):
        if (ages > 110).any():
            self.odd = True


class Rows:
    def __init__(self, ages):
        self.old = [age for age in ages if age > 110]

    def __len__(self):
        return len(self.old)

    def __getitem__(self, index):
        return self.old[index]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class Settings:
    stored = 0

    @property
    def level(self):
        return self.stored

    @level.setter
    def level(self, value):
        self.stored = value

    def __setitem__(self, name, value):
        self.stored = value


class Size(Enum):
    SMALL = 0
    LARGE = 1


@functools.lru_cache
def squared(number):
    return number * number


def fill(out, values):
    out["sum"] = values.sum()


@contextlib.contextmanager
def loaded(me):
    yield me.records.column("age")


def noisy(me, counts, epsilon=1.0):
    return me.release(laplace(counts, sensitivity=1, epsilon=epsilon), to=CURATOR)


class Reading(Protocol[Options]):
    name = "reading"
    summary = "a number"
    trust = "nobody"
    neighbours = "{neighbours}"

    @message
    class Answer:
        value: float

    @message
    class Other:
        value: float

    def send(self, me, value):
        me.send(self.Answer(value), to=CURATOR)

    def ages_of(self, me):
        return me.records.column("age").astype(int)

    def party(self, me: Party) -> None:
        ages = me.records.column("age").astype(int)
        jobs = me.records.column("occupation")
        with me.phase("count"):
{body}

    def curator(self, desk: Curator) -> Outcome:
        return Outcome()
"""
LEAKS = {
    "a dict that a loop fills": """
counts = {20: 0, 40: 0}
for than in counts:
    counts[than] = older(ages, than)
me.send(self.Answer(counts[20]), to=CURATOR)""",
    "a dict of public keys that a loop fills": """
counts = dict.fromkeys((20, 40), 0)
for than in counts:
    counts[than] += older(ages, than)
me.send(self.Answer(sum(counts.values())), to=CURATOR)""",
    "either of two lists": """
rows = [] if len(ages) > 3 else ages
me.send(self.Answer(rows[0]), to=CURATOR)""",
    "values that are replaced in one case": """
counts = {'a': 1}
if ages.sum() > 1000:
    for name in counts:
        counts[name] = 0
me.send(self.Answer(counts['a']), to=CURATOR)""",
    "sums that begin anew in a loop": """
sums = [0.0] * 10
for place in range(len(sums)):
    sums[place] = 0.0
    for age in ages:
        sums[place] += age
me.send(self.Answer(sums[3]), to=CURATOR)""",
    "keys that a counter makes beside a first one": """
counts = Counter()
counts['a'] = 0
for job in jobs:
    counts[job] += 1
me.send(self.Answer(len(counts)), to=CURATOR)""",
    "an object that is one of several": """
one = Check() if len(ages) > 3 else Check()
other = one if len(ages) > 4 else Check()
other.odd = ages.sum()
me.send(self.Answer(one.odd), to=CURATOR)""",
    "a text in memory": """
text = io.StringIO()
json.dump({'sum': int(ages.sum())}, text)
me.send(self.Answer(text.getvalue()), to=CURATOR)""",
    "what a property sets": """
settings = Settings()
settings.level = int((ages > 110).any())
me.send(self.Answer(settings.stored), to=CURATOR)""",
    "an item that an object sets": """
settings = Settings()
settings['odd'] = int((ages > 110).any())
me.send(self.Answer(settings.stored), to=CURATOR)""",
    "numbers that are put into an array": """
out = np.zeros(3)
np.put(out, [0], [ages.sum()])
me.send(self.Answer(out[0]), to=CURATOR)""",
    "which of two mechanisms is released": """
small = laplace(3, sensitivity=1, epsilon=0.5)
large = laplace(3, sensitivity=1, epsilon=1)
me.release(small if (ages > 110).any() else large, to=CURATOR)""",
    "whether a search finds somebody": """
first = next((age for age in ages if age > 110), None)
me.send(self.Answer(first is None), to=CURATOR)""",
    "what kind of answer a search gives": """
first = next((age for age in ages if age > 110), None)
me.send(self.Answer(isinstance(first, int)), to=CURATOR)""",
    "whether a pattern is there": """
if re.search('odd', ' '.join(jobs)) is None:
    me.send(self.Answer(1.0), to=CURATOR)""",
    "whether a dict has a key": """
index = {age: 1 for age in ages}
me.send(self.Answer(index.get(110) is None), to=CURATOR)""",
    "a public list that is cut": """
ids = list(range(1000))[: older(ages, 60)]
me.send(self.Answer(len(ids)), to=CURATOR)""",
    "as many draws as people": """
draws = np.random.default_rng(1).random(older(ages, 60))
me.send(self.Answer(len(draws)), to=CURATOR)""",
    "as many copies as people": """
me.send(self.Answer(len(np.repeat([0], older(ages, 60)))), to=CURATOR)""",
    "a key that is added by default": """
table = {}
for age in ages:
    if age > 110:
        table.setdefault('odd', []).append(1)
me.send(self.Answer(len(table)), to=CURATOR)""",
    "what an object in a list has seen": """
checks = [Check(), Check()]
for check in checks:
    check.look(ages)
me.send(self.Answer(checks[0].odd), to=CURATOR)""",
    "how many an object has": "me.send(self.Answer(len(Rows(ages))), to=CURATOR)",
    "whether an object is true": """
if not Rows(ages):
    me.send(self.Answer(1.0), to=CURATOR)""",
    "an item of an object": "me.send(self.Answer(Rows(ages)[0]), to=CURATOR)",
    "what a block gets of an object": """
with Rows(ages) as rows:
    me.send(self.Answer(rows.old[0]), to=CURATOR)""",
    "an error that a block suppresses": """
many = False
with contextlib.suppress(ValueError):
    list(ages).index(111)
    many = True
me.send(self.Answer(many), to=CURATOR)""",
    "the last value that a comprehension names": """
any((last := age) > 110 for age in ages)
me.send(self.Answer(last), to=CURATOR)""",
    "the member of an enumeration": """
size = Size(int((ages > 110).any()))
me.send(self.Answer(size.name), to=CURATOR)""",
    "options of a mechanism that records decide": """
options = {'sensitivity': 1, 'epsilon': 1.0 if (ages > 110).any() else 0.5}
me.release(laplace(3, **options), to=CURATOR)""",
    "rows in a database": """
base = sqlite3.connect('people')
base.execute('insert into ages values (?)', (int(ages.sum()),))""",
    "a value that an error carries": """
try:
    raise ValueError(int(ages.sum()))
except ValueError as error:
    me.send(self.Answer(error.args[0]), to=CURATOR)""",
    "what a warning says": "warnings.warn(f'{ages.sum()} years')",
    "that a warning is given": """
if (ages > 110).any():
    warnings.warn('somebody is old')""",
    "that something is printed": """
if (ages > 110).any():
    print('somebody is old')""",
    "a table that is written to a file": "pd.DataFrame({'age': ages}).to_csv('ages.csv')",
    "an array that is written to a file": "np.save('ages', ages)",
    "an array's own bytes in a file": "ages.tofile('ages')",
    "a file that is opened without a block": """
file = open('ages', 'w')
file.write(str(ages.sum()))
file.close()""",
    "a path that is opened without a block": """
file = Path('ages').open('w')
file.write(str(ages.sum()))""",
    "what a module writes into a file": """
with open('ages', 'w') as file:
    json.dump({'sum': int(ages.sum())}, file)""",
    "lines of a file": """
with open('ages', 'w') as file:
    csv.writer(file).writerow([ages.sum()])""",
    "a program that is started": "subprocess.run(['echo', str(ages.sum())])",
    "whether the process ends": """
if (ages > 110).any():
    sys.exit(1)""",
    "how long a local import sleeps": """
import time
time.sleep(float(ages.sum()))""",
    "a list of the module": """
CACHE.append(ages.sum())
me.send(self.Answer(CACHE[-1]), to=CURATOR)""",
    "a dict of the module": """
SEEN['sum'] = ages.sum()
me.send(self.Answer(SEEN['sum']), to=CURATOR)""",
    "a variable of the module": """
global TOTAL
TOTAL = ages.sum()
me.send(self.Answer(total_so_far()), to=CURATOR)""",
    "an attribute of the class": """
Reading.total = ages.sum()
me.send(self.Answer(Reading.total), to=CURATOR)""",
    "an attribute of the class, read of the object": """
Reading.total = ages.sum()
me.send(self.Answer(self.total), to=CURATOR)""",
    "an attribute of the object's class": """
type(self).total = ages.sum()
me.send(self.Answer(type(self).total), to=CURATOR)""",
    "an attribute that is set by its name": """
setattr(self, 'total', ages.sum())
me.send(self.Answer(self.total), to=CURATOR)""",
    "a second name of a list": """
rows = []
out = rows
rows.append(ages.sum())
me.send(self.Answer(out[0]), to=CURATOR)""",
    "two names of a new list": """
rows = out = []
rows.append(ages.sum())
me.send(self.Answer(out[0]), to=CURATOR)""",
    "a verb by its name": "getattr(me, 'send')(self.Answer(ages.sum()), to=CURATOR)",
    "the records by their name": """
column = getattr(me, 'records').column('age').astype(int)
me.send(self.Answer(column.sum()), to=CURATOR)""",
    "a method by its name": """
column = getattr(self, 'ages_of')(me)
me.send(self.Answer(column.sum()), to=CURATOR)""",
    "a text that is evaluated": "me.send(self.Answer(eval('ages.sum()')), to=CURATOR)",
    "what is put into an argument": """
out = np.zeros(3)
np.cumsum(ages[:3], out=out)
me.send(self.Answer(out[0]), to=CURATOR)""",
    "a reason that is there in one case": """
def problem_of(ages):
    if (ages > 110).any():
        return "too old"
problem = problem_of(ages)
if problem is not None:
    me.send(self.Other(1.0), to=CURATOR)""",
    "a variable that is set in one case": """
oldest = None
if (ages > 110).any():
    oldest = 1
if oldest is None:
    me.send(self.Other(1.0), to=CURATOR)""",
    "what a logger is told": "LOG.warning('%d old', (ages > 110).sum())",
    "that a logger is told something": """
if (ages > 110).any():
    LOG.info("somebody is old")""",
    "what is written to standard output": "sys.stdout.write(str(ages.sum()))",
    "what is written to a file": "Path('ages').write_text(str(ages.sum()))",
    "what a method notes after an early end": """
def note(table):
    if (ages > 110).any():
        return
    table.read += 1
table = Table(me)
note(table)
me.send(self.Answer(table.read), to=CURATOR)""",
    "what is noted two calls behind an early end": """
def add(table):
    table.read += 1
def note(table):
    if (ages > 110).any():
        return
    add(table)
table = Table(me)
note(table)
me.send(self.Answer(table.read), to=CURATOR)""",
    "an end within a loop": """
for age in ages[ages > 110]:
    return
me.send(self.Answer(1.0), to=CURATOR)""",
    "an end within a loop of which a condition decides": """
while (ages > 110).any():
    return
me.send(self.Answer(1.0), to=CURATOR)""",
    "an end beside the next pass of a loop": """
for number in range(3):
    if (ages > 110).any():
        return
    elif number > 1:
        continue
me.send(self.Answer(1.0), to=CURATOR)""",
    "what a function takes out after an early end": """
def forget(table):
    if (ages > 110).any():
        return
    del table["a"]
table = {"a": 1, "b": 2}
forget(table)
me.send(self.Answer(len(table)), to=CURATOR)""",
    "an item that records pick": """
order = [1, 2, 3]
picked = order.pop(int((ages > 110).any()))
me.send(self.Answer(picked), to=CURATOR)""",
    "the secret of an object in a list": """
pairs = [Pair(0, age) for age in ages[:3]]
pairs.append(Pair(0, ages[0]))
me.send(self.Answer(pairs[0].secret), to=CURATOR)""",
    "an error that no handler catches": """
def check():
    if (ages > 110).any():
        raise ValueError("too old")
try:
    check()
except KeyError:
    pass""",
    "what is written to an open file": """
with open("ages", "w") as out:
    out.write(str(ages.sum()))""",
    "what is put on a heap": """
heap = []
heapq.heappush(heap, ages.sum())
me.send(self.Answer(heap), to=CURATOR)""",
    "the number itself": "me.send(self.Answer((ages > 60).sum()), to=CURATOR)",
    "a condition": """
if (ages > 110).any():
    me.send(self.Answer(1.0), to=CURATOR)
else:
    me.send(self.Answer(2.0), to=CURATOR)""",
    "a message in one case alone": """
if (ages > 110).any():
    me.send(self.Answer(1.0), to=CURATOR)""",
    "an early end": """
if (ages > 110).any():
    return
me.send(self.Answer(1.0), to=CURATOR)""",
    "a constant that a condition picks": """
flag = 0
if ages.max() > 110:
    flag = 1
me.send(self.Answer(flag), to=CURATOR)""",
    "a conditional expression": "me.send(self.Answer(1 if ages[0] > 3 else 0), to=CURATOR)",
    "a loop with a break": """
number = 0
for age in ages:
    if age > 100:
        break
    number = number + 1
me.send(self.Answer(number), to=CURATOR)""",
    "a count in a while loop": """
steps = 0
while (ages > steps).any():
    steps += 1
me.send(self.Answer(steps), to=CURATOR)""",
    "a message for each different value": """
for job in sorted(set(jobs)):
    me.send(self.Answer(1.0), to=CURATOR)""",
    "the number of those chosen": "me.send(self.Answer(len(ages[ages > 60])), to=CURATOR)",
    "their number by a comprehension": """
old = [age for age in ages if age > 60]
me.send(self.Answer(len(old)), to=CURATOR)""",
    "a shape": "me.send(self.Answer(np.unique(jobs).shape[0]), to=CURATOR)",
    "a function of the author": "me.send(self.Answer(older(ages, 60)), to=CURATOR)",
    "a function that sends": "answer_with(me, self.Answer, older(ages, 60))",
    "a method that sends": "self.send(me, float(ages.mean()))",
    "a method that reads": "me.send(self.Answer(self.ages_of(me).sum()), to=CURATOR)",
    "a function within": """
def largest():
    return ages.max()
me.send(self.Answer(largest()), to=CURATOR)""",
    "a lambda": """
total = lambda: ages.sum()
me.send(self.Answer(total()), to=CURATOR)""",
    "a release beside": """
count = noisy(me, older(ages, 60))
me.send(self.Answer(count if ages.sum() > 9 else 0), to=CURATOR)""",
    "a release that happens in one case": """
if older(ages, 60) > 5:
    me.send(self.Answer(noisy(me, older(ages, 60))), to=CURATOR)""",
    "an attribute of the protocol": """
self.total = ages.sum()
me.send(self.Answer(self.total), to=CURATOR)""",
    "a field of a dataclass": """
pair = Pair(3, ages.sum())
me.send(self.Answer(pair.secret), to=CURATOR)""",
    "a field of a named tuple": """
pair = Two(3, secret=ages.sum())
me.send(self.Answer(pair.secret), to=CURATOR)""",
    "a key of a dict": """
figures = {"public": 3, "secret": ages.sum()}
me.send(self.Answer(figures["secret"]), to=CURATOR)""",
    "a dict that is filled": """
figures = {}
for job in jobs:
    figures[job] = 1
me.send(self.Answer(len(figures)), to=CURATOR)""",
    "a list that is filled": """
rows = []
for age in ages:
    if age > 100:
        rows.append(1)
me.send(self.Answer(len(rows)), to=CURATOR)""",
    "one of two results": """
public, secret = 1, ages.sum()
me.send(self.Answer(secret), to=CURATOR)""",
    "a text": 'me.send(self.Answer(float(f"{ages.max()}")), to=CURATOR)',
    "an error": """
try:
    years = [int(job) for job in jobs]
except ValueError:
    me.send(self.Answer(1.0), to=CURATOR)""",
    "a case": """
match ages.max():
    case 90:
        me.send(self.Answer(1.0), to=CURATOR)""",
    "progress": "me.progress(int((ages > 9).sum()), of=10)",
    "an epsilon that records decide": """
me.send(self.Answer(noisy(me, 3, epsilon=1.0 if ages.max() > 90 else 0.5)), to=CURATOR)""",
    "bounds that are the largest value": """
total = real_sum(ages, bounds=(0, ages.max()), neighbours="replace-one", epsilon=1.0)
me.send(self.Answer(me.release(total, to=CURATOR)), to=CURATOR)""",
    "a raised error": """
if (ages > 115).any():
    raise ValueError("too old")""",
    "who receives": "me.send(self.Answer(1.0), to=int(ages[0] > 60))",
    "the size of a part": """
for part in me.partition(by="sex"):
    me.send(self.Answer(len(part.records)), to=CURATOR)""",
    "the type of numbers": """
counts = np.bincount(ages, minlength=100)
width = np.min_scalar_type(counts.max())
me.send(self.Answer(np.zeros(3).astype(width)), to=CURATOR)""",
    "a pass later": """
before = 0
for step in range(3):
    me.send(self.Answer(before), to=CURATOR)
    before = ages.sum()""",
    "an assignment in a condition": """
if (number := older(ages, 60)) > 5:
    me.send(self.Answer(number), to=CURATOR)""",
    "an index": "me.send(self.Answer([1, 2, 3][ages[0] % 3]), to=CURATOR)",
    "a method of an object": "me.send(self.Answer(Table(me).mean()), to=CURATOR)",
    "a property of an object": "me.send(self.Answer(Table(me).total), to=CURATOR)",
    "an object that sends": """
class_of = Noiser(me, 1.0)
class_of.me.send(self.Answer(ages.sum()), to=CURATOR)""",
    "an object that is filled": """
table = Table(me)
table.read = older(ages, 60)
me.send(self.Answer(table.read), to=CURATOR)""",
    "a dict that a function fills": """
figures = {}
fill(figures, ages)
me.send(self.Answer(figures["sum"]), to=CURATOR)""",
    "a list that a function within fills": """
rows = []
def add(value):
    rows.append(value)
add(ages.sum())
me.send(self.Answer(rows[0]), to=CURATOR)""",
    "a verb that a variable holds": """
send = me.send
send(self.Answer(ages.sum()), to=CURATOR)""",
    "a function that decides": """
best = max(range(100), key=lambda age: (ages == age).sum())
me.send(self.Answer(best), to=CURATOR)""",
    "an order that records decide": """
order = sorted(("a", "b"), key=lambda job: (jobs == job).sum())
me.send(self.Answer(order[0]), to=CURATOR)""",
    "a generator": """
def large():
    yield ages.max()
for value in large():
    me.send(self.Answer(value), to=CURATOR)""",
    "a context manager": """
with loaded(me) as column:
    me.send(self.Answer(len(set(column))), to=CURATOR)""",
    "the last value of a loop": """
for than in (10, 20, 50):
    if (ages > than).sum() < 5:
        break
me.send(self.Answer(than), to=CURATOR)""",
    "what follows a loop without a break": """
for age in ages:
    if age > 100:
        break
else:
    me.send(self.Answer(1.0), to=CURATOR)""",
    "an expression that decides": "ages.max() > 100 and me.send(self.Answer(1.0), to=CURATOR)",
    "a guard of a case": """
match me.receive(self.Other, source=CURATOR):
    case self.Other(value=value) if (ages > value).any():
        me.send(self.Answer(1.0), to=CURATOR)""",
    "what follows an error that is caught": """
try:
    years = [int(job) for job in jobs]
except ValueError:
    return
me.send(self.Answer(1.0), to=CURATOR)""",
    "an assertion": "assert (ages < 120).all()",
    "a release for each label that occurs": """
labels, counts = np.unique(jobs, return_counts=True)
for count in counts:
    me.send(self.Answer(noisy(me, int(count))), to=CURATOR)""",
    "a release of so many numbers": """
me.release(laplace(np.unique(jobs, return_counts=True)[1], sensitivity=1, epsilon=1.0), to=CURATOR)
""",
    "the number of keys": """
groups = defaultdict(list)
for age, job in zip(ages, jobs):
    groups[job].append(age)
me.send(self.Answer(len(groups)), to=CURATOR)""",
    "the length of a text": "me.send(self.Answer(len(str(ages.max()))), to=CURATOR)",
    "the length of parts that are put together": """
me.send(self.Answer(len(np.concatenate([ages[ages > 3]]))), to=CURATOR)""",
    "the name of a phase": """
with me.phase(f"round {ages.max()}"):
    me.send(self.Answer(1.0), to=CURATOR)""",
    "a bound in another spelling": """
total = real_sum(ages, bound=np.abs(ages).max(), neighbours="replace-one", epsilon=1.0)
me.send(self.Answer(me.release(total, to=CURATOR)), to=CURATOR)""",
    "a removal in one case": """
labels = ["a", "b"]
if (jobs == "a").sum() < 5:
    labels.remove("a")
me.send(self.Answer(len(labels)), to=CURATOR)""",
    "a default": """
def largest(values=ages):
    return values.max()
me.send(self.Answer(largest()), to=CURATOR)""",
    "named arguments together": """
def total(**columns):
    return columns["ages"].sum()
me.send(self.Answer(total(ages=ages)), to=CURATOR)""",
    "what is printed": "print(ages.sum())",
    "a message in one case of a loop": """
step = 0
while step < 3:
    step += 1
    if older(ages, step) == 0:
        continue
    me.send(self.Answer(step), to=CURATOR)""",
    "a column of a table": """
frame = pd.DataFrame({"age": ages, "job": jobs})
me.send(self.Answer(frame["age"].mean()), to=CURATOR)""",
    "a column that has more values": """
self.column = ages
self.column = ages[ages > 3]
me.send(self.Answer(len(self.column)), to=CURATOR)""",
}
RIGHT = {
    "figures that are kept in memory": """
json.dump({'sum': int(ages.sum())}, io.StringIO())
np.save(io.BytesIO(), ages)
pd.DataFrame({'age': ages}).to_csv(io.StringIO())""",
    "a draw of one number": """
centre = np.random.default_rng(1).normal(ages.mean(), 1)
me.release(laplace([centre], sensitivity=1, epsilon=1), to=CURATOR)""",
    "one of two exact counts of a mechanism": """
old = (ages > 60).sum()
me.release(
    laplace(old, sensitivity=1, epsilon=1) if old > 3 else laplace(0, sensitivity=1, epsilon=1),
    to=CURATOR,
)""",
    "the public keys of counts": """
counts = {'a': 0, 'b': 0}
for job in jobs:
    if job in counts:
        counts[job] += 1
me.send(self.Answer('/'.join(counts)), to=CURATOR)""",
    "the number of public keys": """
counts = {'a': 0, 'b': 0}
for job in jobs:
    if job in counts:
        counts[job] += 1
me.send(self.Answer(len(counts)), to=CURATOR)""",
    "public keys that a pattern counts": """
tally = {'yes': 0, 'no': 0}
for age in ages:
    match age > 60:
        case True:
            tally['yes'] += 1
        case _:
            tally['no'] += 1
me.send(self.Answer('/'.join(tally)), to=CURATOR)""",
    "the public names of masks": """
masks = {'old': ages > 60, 'young': ages < 30}
me.send(self.Answer(' '.join(sorted(masks))), to=CURATOR)""",
    "counts of a dict that releases replace": """
counts = {'a': older(ages, 3), 'b': older(ages, 4)}
for name in counts:
    counts[name] = noisy(me, counts[name])
me.send(self.Answer(sum(counts.values())), to=CURATOR)""",
    "counts of a list that releases replace": """
counts = [older(ages, 3), older(ages, 4)]
for index in range(len(counts)):
    counts[index] = noisy(me, counts[index])
me.send(self.Answer(counts[0]), to=CURATOR)""",
    "parts by their names": """
first, second = me.partition(into=2)
for part in (first, second):
    mechanism = laplace(len(part.records), sensitivity=1, epsilon=1)
    me.release(mechanism, to=CURATOR, of=part)""",
    "lines of a text in memory": """
text = io.StringIO()
csv.writer(text).writerow([ages.sum()])""",
    "what is printed into a text in memory": "print(ages.sum(), file=io.StringIO())",
    "a database in memory": """
base = sqlite3.connect(':memory:')
base.execute('insert into ages values (?)', (int(ages.sum()),))""",
    "public labels beside counts": """
pairs = [('a', older(ages, 3)), ('b', older(ages, 4))]
labels, counts = zip(*pairs)
me.send(self.Answer(labels[0]), to=CURATOR)""",
    "whether a public search finds something": """
first = next((step for step in range(3) if step > 1), None)
me.send(self.Answer(first is None), to=CURATOR)""",
    "a public number of draws": """
draws = np.random.default_rng(1).random(5)
me.send(self.Answer(len(draws)), to=CURATOR)""",
    "the number of repeated ages": "me.send(self.Answer(len(np.repeat(ages, 2))), to=CURATOR)",
    "a text of a table": """
text = pd.DataFrame({'age': ages}).to_csv()
me.send(self.Answer(noisy(me, text.count('3'))), to=CURATOR)""",
    "a list of the module that holds no records": """
CACHE.append(3)
me.send(self.Answer(CACHE[-1]), to=CURATOR)""",
    "a release that the module keeps": """
SEEN['answer'] = noisy(me, older(ages, 3))
me.send(self.Answer(SEEN['answer']), to=CURATOR)""",
    "a release in a file": """
answer = noisy(me, older(ages, 3))
np.save('answer', np.array([answer]))""",
    "a public line in a file": """
file = open('log', 'w')
file.write('begin')""",
    "public figures in a file": """
with open('log', 'w') as file:
    json.dump({'epsilon': 1}, file)""",
    "a public attribute by its name": "me.send(self.Answer(getattr(self, 'name')), to=CURATOR)",
    "a release by the verb's name": """
mechanism = laplace(older(ages, 3), sensitivity=1, epsilon=1)
answer = getattr(me, 'release')(mechanism, to=CURATOR)
me.send(self.Answer(answer), to=CURATOR)""",
    "a second name of a list of releases": """
rows = []
out = rows
rows.append(noisy(me, older(ages, 3)))
me.send(self.Answer(out[0]), to=CURATOR)""",
    "a copy of a list before it is changed": """
rows = []
out = list(rows)
rows.append(ages.sum())
me.send(self.Answer(len(out)), to=CURATOR)""",
    "a name that is another list later": """
rows = []
out = rows
rows = list(ages)
out.append(1)
me.send(self.Answer(out[0]), to=CURATOR)""",
    "a warning that is always given": "warnings.warn('this is old')",
    "a release": "me.send(self.Answer(noisy(me, older(ages, 60))), to=CURATOR)",
    "what is computed of it": """
answer = noisy(me, older(ages, 60))
if answer > 5:
    answer = doubled(answer)
self.send(me, answer)""",
    "the public number of rows": "me.send(self.Answer(len(me.records)), to=CURATOR)",
    "the length of a column": "me.send(self.Answer(len(ages) + ages.shape[0]), to=CURATOR)",
    "a release for each public value": """
answers = [noisy(me, older(ages, than)) for than in (20, 40, 60)]
me.send(self.Answer(sum(answers)), to=CURATOR)""",
    "a release for each cell": """
counts = np.bincount(ages // 10, minlength=10)
for cell in counts:
    me.send(self.Answer(noisy(me, int(cell))), to=CURATOR)""",
    "a release for each part": """
for part in me.partition(by="sex"):
    mechanism = laplace(len(part.records), sensitivity=1, epsilon=1.0)
    me.send(self.Answer(me.release(mechanism, to=CURATOR, of=part)), to=CURATOR)""",
    "a release for each of several blocks": """
for block in np.array_split(ages, 4):
    me.send(self.Answer(noisy(me, older(block, 60))), to=CURATOR)""",
    "a mechanism in a function": "answer_with(me, self.Answer, noisy(me, older(ages, 60)))",
    "a question that is received": """
question = me.receive(self.Other, source=CURATOR).value
me.send(self.Answer(noisy(me, older(ages, question))), to=CURATOR)""",
    "the public field of a pair": """
pair, two = Pair(3, ages.sum()), Two(3, secret=ages.sum())
me.send(self.Answer(pair.public + two.public), to=CURATOR)""",
    "the public key of a dict": """
figures = {"public": 3, "secret": ages.sum()}
me.send(self.Answer(figures["public"]), to=CURATOR)""",
    "the public one of two results": """
public, secret = 1, ages.sum()
me.send(self.Answer(public), to=CURATOR)""",
    "a counter of steps": """
for step in range(3):
    centre = noisy(me, older(ages, 20 * step))
    me.progress(step + 1, of=3)
    me.send(self.Answer(centre), to=CURATOR)""",
    "steps that answers end": """
while True:
    answer = noisy(me, older(ages, 60))
    me.send(self.Answer(answer), to=CURATOR)
    if answer > 10:
        break""",
    "values that are clipped": """
for index, age in enumerate(ages):
    if age > 100:
        ages[index] = 100
me.send(self.Answer(noisy(me, older(ages, 60))), to=CURATOR)""",
    "an empty case that is public": """
if not len(me.records):
    me.send(self.Answer(0.0), to=CURATOR)
    return
self.send(me, noisy(me, older(ages, 60)))""",
    "the type of a column": "me.send(self.Answer(float(ages.dtype.itemsize)), to=CURATOR)",
    "a value that is overwritten": """
value = ages.sum()
value = 3
me.send(self.Answer(value), to=CURATOR)""",
    "one of two pairs, by a public condition": """
figure, sensitivity = (ages.sum(), 100) if me.rank == 1 else (older(ages, 60), 1)
answer = me.release(laplace(figure, sensitivity=sensitivity, epsilon=1.0), to=CURATOR)
me.send(self.Answer(answer), to=CURATOR)""",
    "one of two results of a function": """
def figure_of(rank):
    if rank == 1:
        return ages.sum(), 100
    return older(ages, 60), 1
figure, sensitivity = figure_of(me.rank)
answer = me.release(laplace(figure, sensitivity=sensitivity, epsilon=1.0), to=CURATOR)
me.send(self.Answer(answer), to=CURATOR)""",
    "the number of a cell": """
counts = np.bincount(ages // 10, minlength=10)
for index, cell in enumerate(counts):
    me.send(self.Answer(index + noisy(me, int(cell))), to=CURATOR)""",
    "a public label beside a count": """
counts = [(jobs == job).sum() for job in ("a", "b")]
for label, count in zip(("a", "b"), counts):
    me.send(self.Answer(label + str(noisy(me, int(count)))), to=CURATOR)""",
    "keys of a dict": """
counts = {job: int((jobs == job).sum()) for job in ("a", "b")}
answers = {job: noisy(me, count) for job, count in counts.items()}
me.send(self.Answer(str(answers)), to=CURATOR)""",
    "a list of queries": """
for figure, sensitivity in [(older(ages, 3), 1), (ages.sum(), 100)]:
    answer = me.release(laplace(figure, sensitivity=sensitivity, epsilon=1.0), to=CURATOR)
    me.send(self.Answer(answer), to=CURATOR)""",
    "mechanisms in a list": """
mechanisms = [(job, laplace((jobs == job).sum(), sensitivity=1, epsilon=1.0)) for job in ("a", "b")]
for label, mechanism in mechanisms:
    me.send(self.Answer(label + str(me.release(mechanism, to=CURATOR))), to=CURATOR)""",
    "an object that releases": """
noiser = Noiser(me, 1.0)
me.send(self.Answer(noiser.count(older(ages, 60)) * noiser.epsilon), to=CURATOR)""",
    "a public attribute of an object with records": """
table = Table(me)
me.send(self.Answer(table.bins + table.read), to=CURATOR)""",
    "the scale of a mechanism": """
mechanism = laplace(older(ages, 60), sensitivity=1, epsilon=1.0)
answer = me.release(mechanism, to=CURATOR)
if answer > 2 * mechanism.scale:
    me.send(self.Answer(answer), to=CURATOR)""",
    "a released value beside records": """
state = {"ages": ages}
state["noisy"] = noisy(me, older(state["ages"], 60))
me.send(self.Answer(state["noisy"]), to=CURATOR)""",
    "an attribute that a release replaces": """
self.count = older(ages, 60)
self.count = noisy(me, self.count)
me.send(self.Answer(self.count), to=CURATOR)""",
    "a release that a variable holds": """
release = functools.partial(me.release, to=CURATOR)
answer = release(laplace(older(ages, 60), sensitivity=1, epsilon=1.0))
me.send(self.Answer(answer), to=CURATOR)""",
    "releases of a map": """
counts = np.bincount(ages // 10, minlength=10)
answers = list(map(lambda cell: noisy(me, int(cell)), counts))
me.send(self.Answer(sum(answers)), to=CURATOR)""",
    "a decorated function": "me.send(self.Answer(squared(noisy(me, older(ages, 60)))), to=CURATOR)",
    "a tree of released counts": """
def grow(rows, depth):
    count = noisy(me, older(rows, 0))
    return [count] if not depth or count < 10 else [count, *grow(rows // 2, depth - 1)]
me.send(self.Answer(sum(grow(ages, 3))), to=CURATOR)""",
    "counts in a list of fixed length": """
counts = [0] * 10
for age in ages:
    counts[min(age // 10, 9)] += 1
for count in counts:
    me.send(self.Answer(noisy(me, count)), to=CURATOR)""",
    "an array like another": """
counts = np.bincount(ages // 10, minlength=10)
total = np.zeros_like(counts)
total = total + noisy(me, counts)
me.send(self.Answer(total.sum()), to=CURATOR)""",
    "edges that are public": """
counts, edges = np.histogram(ages, bins=10, range=(0, 100))
me.send(self.Answer(edges[0] + noisy(me, counts)[0]), to=CURATOR)""",
    "something that is there or not": """
values = ages if me.rank == 1 else None
if values is not None:
    me.send(self.Answer(noisy(me, older(values, 60))), to=CURATOR)""",
    "an error that is caught at once": """
try:
    if (ages > 120).any():
        raise ValueError("too old")
    count = older(ages, 60)
except ValueError:
    count = 0
me.send(self.Answer(noisy(me, count)), to=CURATOR)""",
    "counts in place": """
counts = np.bincount(ages // 10, minlength=10)
counts[:] = noisy(me, counts)
me.send(self.Answer(counts.sum()), to=CURATOR)""",
    "parts with their numbers": """
for index, part in enumerate(me.partition(into=3)):
    me.progress(index, of=3)
    value = older(part.records.column("age").astype(int), 60)
    mechanism = laplace(value, sensitivity=1, epsilon=1.0)
    me.send(self.Answer(me.release(mechanism, to=CURATOR, of=part)), to=CURATOR)""",
    "columns of a table": """
frame = pd.DataFrame({"old": ages > 60, "young": ages < 20})
for name in ("old", "young"):
    me.send(self.Answer(name + str(noisy(me, int(frame[name].sum())))), to=CURATOR)""",
    "counts of public labels": """
counts = pd.Series(jobs).value_counts().reindex(["a", "b"], fill_value=0)
for count in counts:
    me.send(self.Answer(noisy(me, int(count))), to=CURATOR)""",
    "what follows an end that only an answer decides": """
def first(me):
    answer = noisy(me, older(ages, 60))
    if answer < 10:
        return None
    return answer
answer = first(me)
if answer is not None:
    me.send(self.Answer(answer), to=CURATOR)""",
    "pairs of a public name and a mechanism": """
def questions():
    for name, than in (("old", 60), ("older", 80)):
        yield name, laplace(older(ages, than), sensitivity=1, epsilon=1.0)
for name, mechanism in questions():
    me.send(self.Answer(name + str(me.release(mechanism, to=CURATOR))), to=CURATOR)""",
    "public items of what waits": """
waiting = [(0, 100, ages)]
while waiting:
    low, high, rows = waiting.pop()
    answer = noisy(me, len(rows))
    me.send(self.Answer(low + high + answer), to=CURATOR)
    if answer > 20 and high > low + 1:
        waiting.append((low, high // 2, rows[:3]))""",
    "an error that the caller catches": """
def checked():
    if (ages > 110).any():
        raise ValueError("too old")
    return ages
try:
    kept = checked()
except ValueError:
    kept = ages
me.send(self.Answer(noisy(me, older(kept, 60))), to=CURATOR)""",
    "a logarithm of a module that a function imports": """
import math
value = math.log((ages > 60).sum() + 1)
me.send(self.Answer(noisy(me, value)), to=CURATOR)""",
    "public items of a pair in a dict": """
pairs = {name: (0, ages.sum()) for name in ("a", "b")}
public, secret = pairs.pop("a")
me.send(self.Answer(public), to=CURATOR)""",
    "a text that is put together in memory": """
out = io.StringIO()
out.write(str(ages.sum()))
me.send(self.Answer(noisy(me, len(ages))), to=CURATOR)""",
    "a list of answers": """
answers = []
for than in (20, 40):
    answers.append(noisy(me, older(ages, than)))
me.send(self.Answer(len(answers) + answers[0]), to=CURATOR)""",
    "an error in what is received": """
try:
    question = int(me.receive(self.Other, source=CURATOR).value)
except ValueError:
    me.send(self.Answer(0.0), to=CURATOR)
    return
me.send(self.Answer(noisy(me, older(ages, question))), to=CURATOR)""",
}
CountingJob = Callable[..., Job]
numbers = count()


@pytest.fixture
def kind_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., type[Any]]]:
    """Write and import the module of a protocol whose party does this."""
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []

    def make(body: str, *, neighbours: str = "replace-one") -> type[Any]:
        name = f"reading_{next(numbers)}"
        lines = "\n".join(f"            {line}" for line in body.strip().splitlines())
        source = MODULE.replace("{neighbours}", neighbours).replace("{body}", lines)
        (tmp_path / f"{name}.py").write_text(source)
        names.append(name)
        kind: type[Any] = importlib.import_module(name).Reading
        return kind

    yield make
    for name in names:
        sys.modules.pop(name, None)


def passages_of(kind: type[Any]) -> list[Passage]:
    return passages_in(kind, files=[Path(inspect.getfile(kind)).resolve()])


@pytest.mark.parametrize("body", LEAKS.values(), ids=LEAKS)
def test_what_no_release_covers_is_found(kind_of: Callable[..., type[Any]], body: str) -> None:
    assert passages_of(kind_of(body))


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_nothing_is_found_in_right_programs(kind_of: Callable[..., type[Any]], body: str) -> None:
    assert passages_of(kind_of(body)) == []


@pytest.mark.parametrize("neighbours", ["add-or-remove-one", "label-alone"])
def test_rows_are_private_where_neighbours_have_one_more(
    kind_of: Callable[..., type[Any]], neighbours: str
) -> None:
    """Of labels alone a source shows nothing, so no line is named."""
    kind = kind_of("me.send(self.Answer(len(ages)), to=CURATOR)", neighbours=neighbours)
    assert bool(passages_of(kind)) == (neighbours == "add-or-remove-one")
    kind = kind_of("me.send(self.Answer(noisy(me, len(ages))), to=CURATOR)", neighbours=neighbours)
    assert passages_of(kind) == []


def test_line_and_variable_are_named(kind_of: Callable[..., type[Any]]) -> None:
    kind = kind_of("number = older(ages, 60)\nme.send(self.Answer(number), to=CURATOR)")
    (passage,) = passages_of(kind)
    lines = Path(inspect.getfile(kind)).read_text().splitlines()
    assert lines[passage.line - 1].strip() == "me.send(self.Answer(number), to=CURATOR)"
    assert lines[passage.since - 1].strip() == "number = older(ages, 60)"
    assert (passage.kind, passage.variable, passage.decides) == ("Answer", "number", False)


def test_kinds_that_a_play_has_shown_are_not_named_again(
    kind_of: Callable[..., type[Any]],
) -> None:
    kind = kind_of(
        "me.send(self.Answer(ages.sum()), to=CURATOR)\nme.send(self.Other(ages.sum()), to=CURATOR)"
    )
    shown = [Unaccounted(party=1, kind="Answer", messages=1, reason="its content depends")]
    assert len(remarks_on_source(kind, unaccounted=[], has_shapes=False)) == 2
    (remark,) = remarks_on_source(kind, unaccounted=shown, has_shapes=False)
    assert "sends something of records that no release covers (`me.records`" not in remark
    assert "sends something of records that no release covers (`ages`" in remark


def test_what_follows_an_early_end_tells_only_that_it_is_reached(
    kind_of: Callable[..., type[Any]],
) -> None:
    kind = kind_of("""
if (ages > 110).any():
    return
answer = noisy(me, older(ages, 60))
me.send(self.Answer(answer), to=CURATOR)""")
    passages = passages_of(kind)
    assert {passage.act for passage in passages} == {"release", "send"}
    assert all(passage.decides for passage in passages)


def test_lengths_are_not_named_where_plays_have_compared_them(
    kind_of: Callable[..., type[Any]],
) -> None:
    kind = kind_of(
        "counts = np.unique(jobs, return_counts=True)[1]\n"
        "me.release(laplace(counts, sensitivity=1, epsilon=1.0), to=CURATOR)"
    )
    (remark,) = remarks_on_source(kind, unaccounted=[], has_shapes=False)
    assert "the length of laplace" in remark
    assert remarks_on_source(kind, unaccounted=[], has_shapes=True) == []


def test_the_variable_is_named_where_a_generator_ends_early(
    kind_of: Callable[..., type[Any]],
) -> None:
    kind = kind_of("""
def ones():
    if (ages > 110).any():
        return
    yield 1
me.send(self.Answer(sum(ones())), to=CURATOR)""")
    (passage,) = passages_of(kind)
    assert passage.variable == "ages"
    assert passage.since > 0


@pytest.mark.parametrize("neighbours", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize(
    ("call", "is_named"),
    [
        ("real_sum(mean[None, :], bound=1.0", True),
        ("real_sum([mean.sum()], bounds=(-1, 1)", True),
        ("real_sum(np.array([mean.sum()]), bounds=(-1, 1)", True),
        ("real_sum(mean.reshape(1, -1), bound=1.0", True),
        ("real_sum([mean.sum()], bounds=(-limit, limit)", True),
        ("real_sum([mean.sum()], bounds=(-9, 0)", False),
        ("real_sum([mean.sum()], bounds=(0, limit)", False),
        ("real_sum([mean.sum()], bounds=(0, 1)", False),
        ("real_sum(ages, bounds=(-1, 1)", False),
        ("real_sum([3.0], bound=4.0", False),
    ],
)
def test_a_sum_of_one_row_that_is_no_record_is_named(
    kind_of: Callable[..., type[Any]], call: str, is_named: bool, neighbours: str
) -> None:
    kind = kind_of(
        "limit = 3\nmean = np.array([ages.mean(), ages.std()])\n"
        f"me.release({call}, neighbours=self.neighbours, epsilon=1.0), to=CURATOR)",
        neighbours=neighbours,
    )
    remarks = remarks_on_source(kind, unaccounted=[], has_shapes=False)
    named = is_named and neighbours == "add-or-remove-one"
    assert any("may change by twice the stated bound" in text for text in remarks) == named
    assert len(remarks) == named


def test_calls_within_calls_are_read_once(kind_of: Callable[..., type[Any]]) -> None:
    """Each argument of forty calls is read twice at most, or this would take for ever."""
    nested = "ages.sum()"
    for _ in range(20):
        nested = f"int(abs({nested}))"
    assert passages_of(kind_of(f"me.send(self.Answer({nested}), to=CURATOR)"))


def test_recursion_ends(kind_of: Callable[..., type[Any]]) -> None:
    kind = kind_of("""
def again(number):
    return again(number - 1) if number else ages.sum()
me.send(self.Answer(again(3)), to=CURATOR)""")
    assert passages_of(kind)


def test_the_built_in_protocols_have_no_such_line() -> None:
    """What one of them chooses from is an object with methods, which is followed as a whole."""
    folder = Path(sottovoce.protocols.__file__).resolve().parent
    files = [path.resolve() for path in folder.rglob("*.py")]
    for module in pkgutil.walk_packages(sottovoce.protocols.__path__, "sottovoce.protocols."):
        importlib.import_module(module.name)
    kinds = [kind for kind in _subclasses(Protocol) if kind.__module__.startswith("sottovoce.")]
    kinds = [kind for kind in kinds if hasattr(kind, "neighbours")]
    assert len(kinds) > 40
    named = {kind for kind in kinds if passages_in(kind, files=files)}
    assert named == {AsPrinted}


@pytest.mark.usefixtures("first_tables", "short_replays")
def test_a_rehearsal_names_what_no_play_has_shown(counting_job: CountingJob) -> None:
    rare = "if float(me.records.column('age').astype(int).sum()) == 1234.5: me.progress(1, of=2)"
    rehearsal = rehearse(counting_job(before_the_release=rare))
    assert rehearsal.unaccounted == []
    (text,) = [line for line in rehearsal_texts(rehearsal) if "by its source" in line]
    assert "records decide whether line 27 of counting.py tells its progress" in text


@pytest.mark.usefixtures("first_tables", "short_replays")
def test_a_source_is_read_where_no_play_ends_well(counting_job: CountingJob) -> None:
    refusal = "if (me.records.column('age').astype(int) >= 0).all(): raise ValueError('no')"
    rehearsal = rehearse(counting_job(before_the_release=refusal))
    assert rehearsal.failure is not None
    (_, text) = rehearsal_texts(rehearsal)
    assert "raises an error (the condition in line" in text


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def test_a_module_that_raises_is_a_remark(kind_of: Callable[..., type[Any]]) -> None:
    kind = kind_of("lazy.anything(ages)")
    lazy = ModuleType("lazy")
    lazy.__getattr__ = _refuse  # type: ignore[method-assign]
    sys.modules[kind.__module__].lazy = lazy  # type: ignore[attr-defined]
    (remark,) = remarks_on_source(kind, unaccounted=[], has_shapes=False)
    assert remark == "the source of the party's part could not be followed (ImportError)"


def _refuse(name: str) -> Any:
    raise ImportError(name)


def test_what_was_found_before_a_source_is_too_deep_is_kept(
    kind_of: Callable[..., type[Any]],
) -> None:
    terms = " + ".join(["1"] * 400)
    kind = kind_of(f"me.send(self.Answer(ages.sum()), to=CURATOR)\nself.send(me, {terms})")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 250)
    try:
        line, remark = remarks_on_source(kind, unaccounted=[], has_shapes=False)
    finally:
        sys.setrecursionlimit(limit)
    assert "sends something of records that no release covers" in line
    assert remark == "the source of the party's part could not be followed (RecursionError)"


def test_a_function_that_wraps_a_built_in_is_let_be(kind_of: Callable[..., type[Any]]) -> None:
    kind = kind_of("wrapped(ages)\nme.send(self.Answer(ages.sum()), to=CURATOR)")
    wrapped = functools.wraps(len)(lambda values: -len(values))
    sys.modules[kind.__module__].wrapped = wrapped  # type: ignore[attr-defined]
    assert len(remarks_on_source(kind, unaccounted=[], has_shapes=False)) == 1


def test_a_part_without_a_source_is_a_remark(kind_of: Callable[..., type[Any]]) -> None:
    kind = kind_of("me.send(self.Answer(ages.sum()), to=CURATOR)")
    kind.party = functools.partialmethod(kind.party)
    (remark,) = remarks_on_source(kind, unaccounted=[], has_shapes=False)
    assert remark.startswith("the source of the party's part could not be followed (it is no func")


def test_a_decorated_part_is_read(kind_of: Callable[..., type[Any]]) -> None:
    kind = kind_of("me.send(self.Answer(ages.sum()), to=CURATOR)")
    kind.party = functools.wraps(kind.party)(lambda self, me: None)
    assert len(passages_of(kind)) == 1


def test_the_file_of_a_variable_is_named(kind_of: Callable[..., type[Any]], tmp_path: Path) -> None:
    (tmp_path / "reader_of_ages.py").write_text(
        "def total(me):\n    return me.records.column('age').astype(int).sum()\n"
    )
    kind = kind_of("from reader_of_ages import total\nme.send(self.Answer(total(me)), to=CURATOR)")
    importlib.import_module("reader_of_ages")
    files = [Path(inspect.getfile(kind)).resolve(), (tmp_path / "reader_of_ages.py").resolve()]
    (passage,) = passages_in(kind, files=files)
    assert (passage.variable, passage.since, passage.since_file) == (
        "me.records",
        2,
        "reader_of_ages.py",
    )
    sys.modules.pop("reader_of_ages")


def test_files_of_others_are_not_read(kind_of: Callable[..., type[Any]]) -> None:
    assert passages_in(kind_of("me.send(self.Answer(1.0), to=CURATOR)"), files=[]) == []
