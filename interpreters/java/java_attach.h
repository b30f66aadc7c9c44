/* SPDX-License-Identifier: Apache-2.0 */
/** What the kernel side is told of HotSpot in a process (ebpf/abi/java.h), out of its layout. */
#ifndef INTERPRETERS_JAVA_JAVA_ATTACH_H
#define INTERPRETERS_JAVA_JAVA_ATTACH_H

#include "ebpf/abi/java.h"
#include "interpreters/java/java_code.h"
#include "interpreters/java/java_layout.h"
#include "lib/host/remote_memory.h"

/**
 * Reads where code is, now that the JVM has set itself up. -EAGAIN: it has not yet; -EOPNOTSUPP: a
 * version that lays its objects out as the kernel side cannot read them, or one that makes no code
 * (Zero); -EBADMSG, -E2BIG, -EFAULT, -ESRCH.
 */
int java_attach_read(const struct java_layout *layout, struct remote_memory *memory,
		     struct java_heaps *heaps, struct java_process *process);

#endif
