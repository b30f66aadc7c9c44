# SPDX-License-Identifier: Apache-2.0
"""JSON, regular expressions, packing, sorting."""
import collections
import hashlib
import json
import os
import random
import re
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target


def work(generator):
    numbers = [generator.random() for i in range(5000)]
    text = json.dumps({"numbers": sorted(numbers, key=lambda number: -number), "nested": [{}] * 20})
    found = re.findall(r"(\d)\1+", text)
    words = re.sub(r"\d+", lambda match: match.group()[::-1], text)
    json.loads(text)
    collections.Counter(found).most_common(3)
    hashlib.sha256(zlib.compress(words.encode())).hexdigest()


generator = random.Random(1)
target.ready()
while True:
    work(generator)
