# SPDX-License-Identifier: Apache-2.0
"""Judges stacks that were unwound at one instruction after the other, as build/step_javascript prints them.

While a function runs, its callers stay the same, whatever it does with its arguments and its frame. So all stacks
between a call and its return have the same callers, and these are the frames of the stack at the call. Where a call was
not seen, the next call that the function makes counts: then all frames are complete. The leaf is the same in all
instructions of one part of the code.
"""
import collections

CALL, RETURN, JUMP = "call", "return", "jump"
# Builtins that make and leave the frame of the code that calls them, and count as that code's function.
FRAME_BUILTINS = ("BaselineOutOfLinePrologue", "BaselineLeaveFrame")
GENERATED = {"o": "optimized", "b": "baseline", "i": "baseline", "r": "regexp", "w": "wasm"}
NO_LEAF = "-"

# @number: of the step, in the order of time.
Step = collections.namedtuple("Step", "number kind pc sp leaf callers code")
Fault = collections.namedtuple("Fault", "number code pc why expected found")
NO_FUNCTION = "no function"


class Run:
    """What one activation of a function does, without its callees."""

    def __init__(self, entry_sp=None, return_pc=None, parent=None, call=None):
        # None: the call was not seen.
        self.entry_sp, self.return_pc, self.parent, self.call = entry_sp, return_pc, parent, call
        self.steps = []
        self.callers = None

    def waits_at(self, pc, sp):
        """Whether its last instruction was a call that returns to @pc."""
        last = self.steps[-1]
        return last.kind.startswith(CALL) and return_pc_of(last) == pc and last.sp <= sp


def return_pc_of(step):
    return step.pc + int(step.kind[len(CALL):])


def collapsed(frame):
    """@frame without a guess, with one letter for all code of a function that is not optimized, and one for native code. A
    builtin is known to be a function's only when it has a frame."""
    frame = frame.rstrip("?")
    return {"b": "i", "f": "n"}.get(frame[0], frame[0]) + frame[1:]


def as_caller(step):
    """The frames that the step's leaf has while it waits in the call."""
    if step.leaf == NO_LEAF:
        return []
    leaf = collapsed(step.leaf)
    return [leaf] if leaf[0] in "io" else ["%s%x" % (leaf[0], return_pc_of(step))]


def split_runs(steps):
    """The runs in the steps of a burst, in which None stands for other code; a run comes after the one that called it.
    Also how often a run was left in another way than by a return."""
    stack, runs, jumps = [], [], 0

    def enter(run):
        stack.append(run)
        runs.append(run)

    previous = None
    for index, step in enumerate(steps):
        if step is None:
            previous = step
            continue
        if previous is None:
            while stack and not stack[-1].waits_at(step.pc, step.sp):
                # C++ that has called JavaScript is a caller as well, and may be called again.
                if index and not any(run.waits_at(step.pc, step.sp) for run in stack):
                    break
                stack.pop()
            if not stack or not stack[-1].waits_at(step.pc, step.sp):
                enter(Run(step.sp))
        elif previous.kind.startswith(CALL) and step.sp == previous.sp - 8:
            enter(Run(step.sp, return_pc_of(previous), stack[-1], previous))
        elif previous.kind == RETURN:
            left = stack.pop()
            if left.return_pc != step.pc or not stack:
                jumps += left.return_pc is not None
                stack.clear()
                enter(Run())
        elif previous.kind == JUMP and len(stack) > 1 and stack[-2].entry_sp and step.sp > stack[-2].entry_sp:
            # An exception.
            jumps += 1
            stack.clear()
            enter(Run())
        stack[-1].steps.append(step)
        previous = step
    return runs, jumps


def set_callers(run):
    if run.parent and run.parent.callers is not None:
        run.callers = as_caller(run.call) + run.parent.callers
        return
    calls = [step for step in run.steps if step.kind.startswith(CALL)]
    if calls:
        run.callers = [collapsed(frame) for frame in calls[0].callers]


def split_parts(steps):
    """@steps in parts of the same code."""
    parts = []
    for step in steps:
        if not parts or parts[-1][-1].code != step.code:
            parts.append([])
        parts[-1].append(step)
    return parts


def find_leaf_faults(part):
    calls = [step for step in part if step.kind.startswith(CALL)]
    common = collections.Counter(collapsed(step.leaf) for step in part).most_common(1)[0][0]
    for index, step in enumerate(part):
        following = next((call for call in part[index:] if call.kind.startswith(CALL)), calls[-1] if calls else None)
        expected = collapsed(following.leaf) if following else common
        if collapsed(step.leaf) != expected:
            yield Fault(step.number, step.code, step.pc, NO_FUNCTION if step.leaf[0] == "n" else "another leaf",
                        [expected], [step.leaf])


def find_caller_fault(run, step):
    found = [collapsed(frame) for frame in step.callers]
    if any(frame[0] == "e" for frame in found):
        why = "an error"
    elif found != run.callers:
        if step.code in FRAME_BUILTINS and [collapsed(step.leaf)] + found == run.callers:
            return None
        why = "other callers"
    elif step.leaf.endswith("?") or step.callers[:1] and step.callers[0].endswith("?"):
        why = "a guess"
    else:
        return None
    return Fault(step.number, step.code, step.pc, why, run.callers, [step.leaf] + step.callers)


class Judge:
    """Reads the output of build/step_javascript."""

    def __init__(self):
        self.checked = collections.Counter()
        self.unchecked = self.jumps = 0
        self.faults = []
        self._judged, self._count = [], 0
        self.names = {}
        # Name and ELF virtual address of each pc in a builtin.
        self.builtins = {}
        self._callers = {}
        self._steps = []

    def read(self, lines):
        for line in lines:
            word, *words = line.split()
            getattr(self, "_on_" + word)(*words)
        self._end_burst()

    def _on_at(self, pc, name, address):
        self.builtins[int(pc, 16)] = name, int(address, 16)

    def _on_name(self, fingerprint, *words):
        self.names[fingerprint] = " ".join(words)

    def _on_callers(self, number, *frames):
        self._callers[number] = list(frames)

    def _on_burst(self):
        self._end_burst()

    def _on_skipped(self, _):
        self._steps.append(None)

    def _on_step(self, kind, pc, sp, leaf, number):
        pc = int(pc, 16)
        code = self.builtins[pc][0] if pc in self.builtins else GENERATED.get(leaf[0], "generated")
        self._count += 1
        self._steps.append(Step(self._count, kind, pc, int(sp, 16), leaf, self._callers[number], code))

    def _end_burst(self):
        runs, jumps = split_runs(self._steps)
        self.jumps += jumps
        self._steps = []
        for run in runs:
            set_callers(run)
            if run.callers is None:
                self.unchecked += len(run.steps)
                continue
            for step in run.steps:
                self.checked[step.code] += 1
                self._judged.append(step)
                fault = find_caller_fault(run, step)
                if fault:
                    self.faults.append(fault)
            for part in split_parts(run.steps):
                # A leaf in the builtin that makes a frame is the function or the builtin.
                if part[0].code != FRAME_BUILTINS[0]:
                    self.faults.extend(find_leaf_faults(part))
        self._judged.sort()

    def wrong(self):
        """The faults but those of a leaf that has left its frame: then only the callers are known."""
        return [fault for fault in self.faults if fault.why != NO_FUNCTION]

    def count_instructions(self):
        """(at how many instructions stacks began to be wrong, how many instructions were judged). While a function runs
        all its stacks are judged by one of them, so one fault may spoil many; and a program repeats itself."""
        wrong = {fault.number for fault in self.wrong()}
        first = {step.pc for before, step in zip([None, *self._judged], self._judged)
                 if step.number in wrong and not (before and before.number in wrong)}
        return len(first), len({step.pc for step in self._judged})

    def describe(self, frames):
        """@frames with names instead of fingerprints."""
        return " ".join(frame[0] + ":" + self.names.get(frame[1:].rstrip("+?"), frame[1:]) for frame in frames)
