/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The home in which executables are parsed (elf_home.h), in a process that can do nothing but that (elf_host.h): an attacker
 * who takes it over by a hostile file finds no capability, no file, no socket and no memory of others there. It serves all
 * users. If it crashes, the files that were being parsed are parsed again in a new one, and a file that ends
 * ELF_TRIES_MAX of them counts as damaged.
 */
#ifndef AGENT_RUNTIMES_ELF_HOSTS_H
#define AGENT_RUNTIMES_ELF_HOSTS_H

#include "agent/runtimes/elf_home.h"

enum { ELF_TRIES_MAX = 3 };

struct elf_hosts;

struct elf_hosts_options {
	/** The program to start; NULL: our own, which must call elf_host_enter(). Borrowed. */
	const char *program;
};

/** Starts the process, and does not wait for it. -ENOMEM; -errno of a thread. */
int elf_hosts_create(const struct elf_hosts_options *options, struct elf_hosts **hosts);
/** Takes NULL. No call may be under way. */
void elf_hosts_destroy(struct elf_hosts *hosts);

/** Lives as long as @hosts. */
struct elf_home *elf_hosts_home(struct elf_hosts *hosts);

#endif
