/* SPDX-License-Identifier: Apache-2.0 */
/** A process that parses executables for the agent (elf_hosts.h): the agent's program with a hidden argument. */
#ifndef AGENT_RUNTIMES_ELF_HOST_H
#define AGENT_RUNTIMES_ELF_HOST_H

/** To be called first in main(). Returns unless this is such a process. */
void elf_host_enter(int argument_count, char **arguments);

#endif
