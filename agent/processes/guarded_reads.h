/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads of /proc that wait for the lock of a process's memory: its maps, the files that it has mapped, and its
 * environment. A process can keep that lock for ever, by unmapping a file whose file system does not answer. So the
 * reads are made by a thread of their own, `proc_reads`, which is left behind when it only waits, and ends when the lock
 * is free. SIGKILL ends such a wait, so the agent's end needs no answer; only where the process itself ends while it is
 * read may the kernel have the thread give its memory back, and wait for the file system.
 *
 * A process that hangs is not read while a thread waits for it, and is read again afterwards. The processes of one user
 * may keep a caller waiting for GUARDED_WAITS_NS in a minute; then none of them is read for the rest of it.
 */
#ifndef AGENT_PROCESSES_GUARDED_READS_H
#define AGENT_PROCESSES_GUARDED_READS_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/base/clock.h"
#include "agent/base/file_key.h"
#include "agent/host/proc_maps.h"
#include "agent/host/process_environment.h"

enum {
	/** Threads that are left behind of one struct guarded_reads, in all and for the processes of one user. */
	GUARDED_LEFT_MAX = 64,
	GUARDED_LEFT_OF_USER_MAX = 8,
	/** Users whose waits are remembered. */
	GUARDED_USERS_MAX = 16,
};

/** A thread hangs that only waits for so long, or that has waited for so long in all for one read. */
#define GUARDED_HANG_NS NS_PER_SECOND
#define GUARDED_READ_WAITS_NS (2 * NS_PER_SECOND)
#define GUARDED_WAITS_NS (4 * NS_PER_SECOND)

/**
 * For one thread at a time. Each read fails with
 *
 *	-EHOSTDOWN	the process holds the lock of its memory
 *	-EBUSY		others of its user do or did lately, or too many in all; or it is time to stop
 *	-ENOMEM		also: no thread could be started
 */
struct guarded_reads;

/** NULL without memory. */
struct guarded_reads *guarded_reads_create(const char *proc_root);
/** Threads that hang live on. NULL is fine. */
void guarded_reads_destroy(struct guarded_reads *reads);
/** Any thread. From now on nothing is read, and nobody waits for longer than a moment. NULL is fine. */
void guarded_reads_stop(struct guarded_reads *reads);

/** The CPU time that its threads have used, for what came back. */
uint64_t guarded_reads_cpu_ns(const struct guarded_reads *reads);

/** As proc_maps_read(), and the name of service_name_read() with it; @service_name may be NULL. */
int guarded_maps_read(struct guarded_reads *reads, pid_t pid, struct proc_maps *maps,
		      char service_name[SERVICE_NAME_MAX_BYTES]);

/** The answer of mapped_file_key(). */
struct mapped_key {
	int err;
	struct file_key key;
};

/**
 * As mapped_file_key() for those rows of @maps whose key says -EAGAIN; other keys stay as they are. The first of them is always
 * read; those for which there was no time until @end_ns say -EAGAIN still.
 */
int guarded_keys_read(struct guarded_reads *reads, pid_t pid, const struct proc_maps *maps,
		      uint64_t end_ns, struct mapped_key *keys);

/** As mapped_file_open_mapping(). */
int guarded_file_open(struct guarded_reads *reads, pid_t pid, const struct proc_mapping *row,
		      int *fd, struct file_key *key);

#endif
