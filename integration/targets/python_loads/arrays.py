# SPDX-License-Identifier: Apache-2.0
"""numpy: C code without the GIL, threads of OpenBLAS, C that calls Python for each element.

native: 75
needs: numpy
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target

# OpenBLAS makes its threads when numpy is imported.
target.take_name()
import numpy


def solve(matrix):
    product = numpy.dot(matrix, matrix.T)
    numpy.linalg.solve(product + numpy.eye(len(matrix)), matrix)
    numpy.linalg.svd(matrix[:100, :100])
    return numpy.dot(matrix.astype("float32"), matrix.astype("float32"))


def look_through(matrix):
    numpy.sort(matrix, axis=0)
    numpy.fft.fft2(matrix)
    numpy.exp(numpy.sin(matrix)).sum(axis=1)
    return numpy.unique((matrix * 1000).astype(int))


def element(number):
    return number * 2 if number > 0.5 else -number


def call_back(matrix):
    numpy.frompyfunc(element, 1, 1)(matrix)
    return numpy.apply_along_axis(lambda row: element(row.max()), 1, matrix)


def turn():
    numbers = generator.rand(300, 300)
    solve(numbers)
    look_through(numbers)
    call_back(numbers[:100])


generator = numpy.random.RandomState(1)
# Some modules come with the first call. Their code is freed before it could be named.
turn()
target.ready()
while True:
    turn()
