/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The identity of this machine: values of the resource attributes host.name, host.id and host.arch
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
 * Looks for the machine id below @root ("/"), first in the root of process 1, since the agent's own files may
 * be a container's.
 */
void host_identity_read(struct host_identity *identity, const char *root);

#endif
