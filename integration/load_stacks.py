# SPDX-License-Identifier: Apache-2.0
"""The stacks of a real load in an interpreted language: how many are complete, how many have frames of the language, and how
many of those have no name.
"""
import collections
import re

from harness import share
from judge import FLAGGED


def why_bad(stack):
    """What the incomplete @stack lacks, in short: the frames where it does, with the caller of an error frame."""
    users = [re.sub(r" \(.*|\(.*|0x[0-9a-f]+", "", frame) for frame in stack.user_frames]
    index = next((index for index, frame in enumerate(stack.user_frames) if frame.endswith("_[?]") or frame in stack.errors), 0)
    first = index - (index > 0 and stack.user_frames[index] in stack.errors)
    return " > ".join(users[first:index + 3])


class LoadStacks:
    """Counts of samples. @bad: incomplete stacks; @self_time: samples by the innermost frame of the language."""

    def __init__(self, stacks, ends, frame_of, nameless, is_runtime=lambda users: False):
        """@frame_of(text): what identifies a frame of the language; None for another one. @nameless: how a frame without a name
        begins. @is_runtime(texts): the sample counts for no function, since the runtime works for itself.
        """
        self.total = self.with_frames = self.frames = self.nameless = 0
        self.bad = collections.Counter()
        self.self_time = collections.Counter()
        for stack, count in stacks.items():
            if not stack.is_without_memory:
                self._add(stack, count, ends, frame_of, nameless, is_runtime)

    def _add(self, stack, count, ends, frame_of, nameless, is_runtime):
        users = stack.user_frames
        found = [frame for frame in map(frame_of, users) if frame]
        nameless_count = sum(frame.startswith(nameless) for frame in users)
        self.total += count
        self.with_frames += count * bool(found)
        self.frames += count * (len(found) + nameless_count)
        self.nameless += count * nameless_count
        if not ends.is_complete(stack):
            self.bad[stack] += count
        if found and not is_runtime(users):
            self.self_time[found[-1]] += count

    @property
    def complete_percent(self):
        return 100 * (1 - self.bad.total() / self.total) if self.total else 0

    @property
    def nameless_percent(self):
        return 100 * self.nameless / self.frames if self.frames else 100

    @property
    def with_frames_percent(self):
        return 100 * self.with_frames / self.total if self.total else 0

    def __str__(self):
        return "%s of %d are complete, %s have frames of the language, %.3f %% of which have no name" % (
            share(self.total - self.bad.total(), self.total), self.total,
            share(self.with_frames, self.total), self.nameless_percent)

    def check_complete(self, tap, run, name, times, samples, percent, fault, kind=FLAGGED):
        """One result: at least @samples, @percent of which are complete, with no more bad events than sound agents have.
        @fault: the part of the samples that a fault spoils. @times: the SampleTimes of the stacks. @kind: of the bad events.
        """
        bad = collections.Counter()
        for stack, count in self.bad.items():
            bad[why_bad(stack)] += count
        run.check(tap, name + ": the stacks are complete", kind, times.count_events(self.bad), self.total, fault, self,
                  *["%d times %s" % (count, why) for why, count in bad.most_common(12)],
                  is_good=self.total >= samples and self.complete_percent >= percent)

    def check_names(self, tap, name, nameless_percent, with_frames_percent):
        """One result: at least @with_frames_percent of the samples have frames of the language, and at most @nameless_percent of
        those frames have no name.
        """
        tap.ok(self.nameless_percent <= nameless_percent and self.with_frames_percent >= with_frames_percent,
               name + ": functions have names", self)
