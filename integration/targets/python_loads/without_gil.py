# SPDX-License-Identifier: Apache-2.0
"""C extensions that let go of the GIL, and Python beside them, in threads that come and go.

native: 40
needs: hashlib zlib bz2
"""
import bz2
import hashlib
import os
import sys
import threading
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target

data = bytes(range(256)) * 4096


def digest():
    for name in ("sha256", "sha3_256", "blake2b", "md5"):
        hashlib.new(name, data).hexdigest()


def derive():
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 10000)


def squeeze():
    zlib.decompress(zlib.compress(data, 6))
    bz2.compress(data[:100000])


def count():
    return sum(i * i & 0xff for i in range(50000))


def turn():
    threads = [threading.Thread(target=work, name=target.NAME)
               for work in (digest, derive, squeeze, count, count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


target.ready()
while True:
    turn()
