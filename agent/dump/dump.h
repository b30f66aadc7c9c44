/* SPDX-License-Identifier: Apache-2.0 */
/**
 * `-dump`: the stacks of all threads of processes, now, on standard output. What unwinds need of a process's files is made
 * before its first thread is stopped; a thread stands still only while its registers and its frames are read, and frames get
 * their names afterwards. Nothing here runs in the daemon: the process ends when the stacks are printed.
 */
#ifndef AGENT_DUMP_DUMP_H
#define AGENT_DUMP_DUMP_H

struct options;

/** Prints the stacks of options->dumps. Returns an enum exit_status (agent/agent.h). */
int dump_run(const struct options *options);

#endif
