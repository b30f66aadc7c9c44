/* SPDX-License-Identifier: Apache-2.0 */
/** Makes the kernel side's data for HotSpot in a process (ebpf/abi/java.h) from its layout. */
#ifndef INTERPRETERS_JAVA_JAVA_ATTACH_H
#define INTERPRETERS_JAVA_JAVA_ATTACH_H

#include "ebpf/abi/java.h"
#include "interpreters/java/java_code.h"
#include "interpreters/java/java_layout.h"
#include "lib/host/remote_memory.h"

/**
 * Reads the addresses of the JVM's code. -EAGAIN: the JVM has not initialized itself yet; -EOPNOTSUPP: the
 * kernel side cannot read this version's objects, or the JVM makes no code (Zero); -EBADMSG, -E2BIG, -EFAULT,
 * -ESRCH.
 */
int java_attach_read(const struct java_layout *layout, struct remote_memory *memory,
		     struct java_heaps *heaps, struct java_process *process);

#endif
