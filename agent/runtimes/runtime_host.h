/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A process that holds runtimes of the processes of one user, reads their memory and names their frames. Such a
 * read may hang in the kernel for ever, and its data is hostile. The process is the agent's program, started
 * again (runtime_hosts.h). It has no capabilities, and gets descriptors for everything that it reads.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOST_H
#define AGENT_RUNTIMES_RUNTIME_HOST_H

/** To be called at the start of main(): does not return in a process that is started for this. */
void runtime_host_enter(int argument_count, char **arguments);

#endif
