/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the service name from a process's environment as it was at the exec. The process can write anything
 * there and change it, so the result is bounded but proves nothing.
 */
#ifndef LIB_HOST_PROCESS_ENVIRONMENT_H
#define LIB_HOST_PROCESS_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** The rest of a longer environment is ignored. */
	ENVIRONMENT_MAX_BYTES = 128 << 10,
	/** Bytes of a name with its NUL. Longer names are cut. */
	SERVICE_NAME_MAX_BYTES = 256,
};

/**
 * Finds the service name in @text, variables that end in a NUL (a last one without a NUL is ignored):
 * OTEL_SERVICE_NAME, else service.name in OTEL_RESOURCE_ATTRIBUTES (list of key=value separated by commas,
 * percent-encoded as in W3C Baggage; OpenTelemetry specification, resource SDK). "" if there is none. Any byte
 * but NUL may be in it.
 */
void service_name_parse(const char *text, size_t size, char name[SERVICE_NAME_MAX_BYTES]);

/**
 * Reads the service name of the process @pid, through another thread where the leader has exited; "" if it
 * cannot be read. @proc_root is "/proc" or a test's folder.
 */
void service_name_read(const char *proc_root, pid_t pid, char name[SERVICE_NAME_MAX_BYTES]);

#endif
