/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a process's environment, as it was at its exec, says of the service that it belongs to. The
 * process can write what it likes there, and change it: the answer is bounded, not proved.
 */
#ifndef LIB_HOST_PROCESS_ENVIRONMENT_H
#define LIB_HOST_PROCESS_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** More of an environment is not looked at. */
	ENVIRONMENT_MAX_BYTES = 128 << 10,
	/** With the NUL. Longer names are cut. */
	SERVICE_NAME_MAX_BYTES = 256,
};

/**
 * The name of the service in @text, variables with a NUL behind each (a last one without a NUL is
 * not looked at): OTEL_SERVICE_NAME, else service.name in OTEL_RESOURCE_ATTRIBUTES (list of
 * key=value with commas between them, percent-encoded as in W3C Baggage; OpenTelemetry
 * specification, resource SDK). "" if there is none. Any byte but NUL may be in it.
 */
void service_name_parse(const char *text, size_t size, char name[SERVICE_NAME_MAX_BYTES]);

/**
 * The same for the process @pid, through another thread where the leader has exited; "" if it
 * cannot be read. @proc_root is "/proc" or a test's.
 */
void service_name_read(const char *proc_root, pid_t pid, char name[SERVICE_NAME_MAX_BYTES]);

#endif
