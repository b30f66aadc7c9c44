# SPDX-License-Identifier: Apache-2.0
"""Calls two functions by chance, 18 deep: nearly every stack is a new one, of frames that are known."""
import random


def one(depth):
    return leaf() if depth == 0 else step(depth)


def other(depth):
    return leaf() if not depth else step(depth)


def step(depth):
    return (one if random.getrandbits(1) else other)(depth - 1)


def leaf():
    for _ in range(30):
        pass


print("ready", flush=True)
while True:
    one(18)
