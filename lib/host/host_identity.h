/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What this machine is called: values of the resource attributes host.name, host.id and host.arch
 * (opentelemetry.io/docs/specs/semconv/resource/host).
 */
#ifndef LIB_HOST_HOST_IDENTITY_H
#define LIB_HOST_HOST_IDENTITY_H

#include <limits.h>

enum { MACHINE_ID_DIGITS = 32 };

struct host_identity {
	/** "" if there is none. */
	char name[HOST_NAME_MAX + 1];
	/** The machine id (man machine-id); "" if there is none. */
	char id[MACHINE_ID_DIGITS + 1];
	/** Static: "amd64", "arm64". */
	const char *arch;
};

/**
 * Looks below @root ("/") for the machine id: first as process 1 sees it, since the agent's own
 * files can be a container's.
 */
void host_identity_read(struct host_identity *identity, const char *root);

#endif
