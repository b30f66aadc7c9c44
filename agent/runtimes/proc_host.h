/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The other side of proc_hosts.h: a process of ours that reads maps, environments and mapped files of others,
 * and may hang there. It is confined: it has only the capabilities for reading /proc, the folder that it is
 * handed, the descriptors that it opens, and few system calls.
 */
#ifndef AGENT_RUNTIMES_PROC_HOST_H
#define AGENT_RUNTIMES_PROC_HOST_H

/** To be called at the start of main(): does not return in a process that is started for this. */
void proc_host_enter(int argument_count, char **arguments);

#endif
