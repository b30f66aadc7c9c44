/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The other side of file_hosts.h: a process of ours that opens files on file systems that may never answer, copies them
 * and reads in them, and may hang there. It is confined: it has the capabilities that opening files of other
 * processes takes, no descriptors but those that it opens, and few system calls.
 */
#ifndef AGENT_RUNTIMES_FILE_HOST_H
#define AGENT_RUNTIMES_FILE_HOST_H

/** At the begin of main(): does not return in a process that is started for this. */
void file_host_enter(int argument_count, char **arguments);

#endif
