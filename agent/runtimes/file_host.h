/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The other side of file_hosts.h: a process of ours that opens, copies and reads files on file systems that may
 * never answer, and may hang there. It is confined: it has only the capabilities for opening files of other
 * processes, the descriptors that it opens, and few system calls.
 */
#ifndef AGENT_RUNTIMES_FILE_HOST_H
#define AGENT_RUNTIMES_FILE_HOST_H

/** To be called at the start of main(): does not return in a process that is started for this. */
void file_host_enter(int argument_count, char **arguments);

#endif
