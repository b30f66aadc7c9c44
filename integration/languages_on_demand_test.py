#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: the agent would load the languages of other tests' programs too
"""The unwinder of a language is loaded when the first program of it runs that is selected, and not before; from then on its frames
are there.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perls
from harness import Agent, Program, Tap, bpf_programs_of, need_root
from process_states import wait_for
from sampled import wait_cpu

# The argument becomes the name of the process.
SCRIPT = "$0 = shift; $| = 1; sub work { 1 while 1 } print qq(ready\\n); work();"
SECOND = "second"
SAMPLED_SECONDS = 2
# The least share of the program's samples after that, which show the sub.
SHARE = 0.8


def is_loaded(agent, language):
    """Whether @agent has loaded the unwinder of @language; names of programs are cut."""
    return any(name.startswith(language + "_unwind") for name in bpf_programs_of(agent.pid))


def check_selected(tap, perl):
    """This test is a program in Python, which is not selected."""
    with Program(*perl.command("-e", SCRIPT, "third")) as program, Agent("-pid", program.pid) as agent:
        agent.wait_started()
        tap.ok(is_loaded(agent, "perl") and not is_loaded(agent, "python"),
               "of selected programs the languages are loaded, of others they are not", bpf_programs_of(agent.pid))


def main():
    tap = Tap()
    need_root(tap, "languages on demand")
    every = list(perls.at_hand(False).values())
    if not every:
        tap.skip("languages on demand", "no Perl is at hand: scripts/fetch_perls.py")
        tap.finish()
    perl = max(every, key=lambda one: one.version)
    with Agent("-samples-per-second", 199) as agent:
        agent.wait_started()
        tap.ok(is_loaded(agent, "python"), "the language of a program that runs already is loaded",
               bpf_programs_of(agent.pid))
        if is_loaded(agent, "perl"):
            tap.skip("languages on demand", "a program of Perl runs here already")
            tap.finish()
        with Program(*perl.command("-e", SCRIPT, "first")):
            tap.ok(wait_for(lambda: is_loaded(agent, "perl")), "a language is loaded when its first program runs, and not before",
                   bpf_programs_of(agent.pid))
        with Program(*perl.command("-e", SCRIPT, SECOND)) as program:
            wait_cpu([program.pid], SAMPLED_SECONDS)
            stacks = agent.stop().stacks
    check_selected(tap, perl)
    total = sum(count for stack, count in stacks.items() if stack.comm == SECOND)
    named = sum(count for stack, count in stacks.items()
                if stack.comm == SECOND and any(frame.startswith("main::work") for frame in stack.user_frames))
    tap.ok(total and named >= SHARE * total, "from then on its frames are there", "%d of %d samples" % (named, total))
    tap.finish()


if __name__ == "__main__":
    main()
