# SPDX-License-Identifier: Apache-2.0
"""What the tests of the viewer's page share: the API asked without a browser, stacks counted by
hand, and where frames are on the page's canvas.
"""
import json
import re
import urllib.parse
import urllib.request

from harness import parse_folded

ROW_PIXELS = 18


class Api:
    """The agent's answers at address @url, which ends in a slash."""

    def __init__(self, url):
        self.url = url

    def fetch(self, address):
        """The body of an address relative to the page's."""
        with urllib.request.urlopen(urllib.parse.urljoin(self.url, address), timeout=30) as answer:
            return answer.read()

    def get(self, path, **query):
        return json.loads(self.fetch("api/%s?%s" % (path, urllib.parse.urlencode(query, True))))

    def stacks(self, **query):
        """The samples of a selection as harness.Stack, as the export of folded stacks has them."""
        return parse_folded(self.fetch("api/export?format=folded&" + urllib.parse.urlencode(
            query, True)).decode("utf-8", "surrogateescape"))


def name_of(frame):
    """The function of a folded frame, without what stands behind it."""
    return re.sub(r"( \([^()]*\))?(_\[[kij?]\])*$", "", frame)


def names_of(stack):
    return [name_of(frame) for frame in stack.frames]


def count_with(stacks, name):
    """Samples that have function @name anywhere."""
    return sum(count for stack, count in stacks.items() if name in names_of(stack))


def count_ending(stacks, name):
    """Samples whose leaf is @name."""
    return sum(count for stack, count in stacks.items() if names_of(stack)[-1] == name)


class Geometry:
    """Where the frames of an answer to "flame" stand on the canvas: worked out anew, from the
    columns alone.
    """

    def __init__(self, answer):
        tree = answer["tree"]
        self._tree = tree
        self.total = tree["total"][0]
        self._left = [0.0] * len(tree["parent"])
        self._depth = [0] * len(tree["parent"])
        used = [0.0] * len(tree["parent"])
        for i, parent in enumerate(tree["parent"]):
            if parent >= 0:
                self._left[i] = self._left[parent] + used[parent]
                used[parent] += tree["total"][i]
                self._depth[i] = self._depth[parent] + 1

    def samples(self, node):
        return self._tree["total"][node]

    def find(self, path):
        """The node with the names of @path, which starts below the root; None if there is none."""
        node = 0
        for name in path:
            children = [i for i, parent in enumerate(self._tree["parent"]) if parent == node
                        and self._tree["names"][self._tree["name"][i]] == name]
            if not children:
                return None
            node = children[0]
        return node

    def path_to(self, name):
        """The path to the node of function @name that has most samples; None if there is none."""
        tree = self._tree
        found = [i for i in range(1, len(tree["parent"])) if tree["names"][tree["name"][i]] == name]
        if not found:
            return None
        node, path = max(found, key=self.samples), []
        while node > 0:
            path.insert(0, tree["names"][tree["name"][node]])
            node = tree["parent"][node]
        return path

    def place(self, node, width):
        """The middle of the node on a canvas of @width pixels that shows all."""
        middle = (self._left[node] + self._tree["total"][node] / 2) / self.total * width
        return middle, self._depth[node] * ROW_PIXELS + ROW_PIXELS / 2


def number_in(text, pattern):
    """The first group of @pattern in @text as a number; None if it is not there."""
    match = re.search(pattern, text)
    return int(match[1].replace(",", "")) if match else None
