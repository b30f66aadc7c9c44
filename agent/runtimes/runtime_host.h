/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A process that holds runtimes of the processes of one user, reads their memory and names their frames: such
 * reading may hang for ever, in the kernel, and what is read is hostile. It is the agent's program, started anew
 * (runtime_hosts.h), has no capability, and gets what it reads as descriptors.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOST_H
#define AGENT_RUNTIMES_RUNTIME_HOST_H

/** At the begin of main(): does not return in a process that is to be such a one. */
void runtime_host_enter(int argument_count, char **arguments);

#endif
