// SPDX-License-Identifier: Apache-2.0
#include "lib/host/host_identity.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

/* In order of precedence. */
static const char *const machine_id_paths[] = {
	"proc/1/root/etc/machine-id",
	"etc/machine-id",
	"var/lib/dbus/machine-id",
};

/* An id that is not assigned yet is the word "uninitialized", or empty. */
static bool read_machine_id(const char *root, const char *path, char *id)
{
	_cleanup_(close_fd) int fd = -1;
	char full_path[PATH_MAX];
	char text[MACHINE_ID_DIGITS];

	snprintf(full_path, sizeof(full_path), "%s/%s", root, path);
	fd = open(full_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || read(fd, text, sizeof(text)) != sizeof(text))
		return false;
	for (size_t i = 0; i < sizeof(text); i++) {
		if (!text[i] || !strchr("0123456789abcdef", text[i]))
			return false;
	}
	memcpy(id, text, sizeof(text));
	id[sizeof(text)] = '\0';
	return true;
}

static const char *architecture(void)
{
#if defined(__x86_64__)
	return "amd64";
#elif defined(__aarch64__)
	return "arm64";
#else
#error "no name for this architecture"
#endif
}

void host_identity_read(struct host_identity *identity, const char *root)
{
	*identity = (struct host_identity){ .arch = architecture() };
	if (gethostname(identity->name, sizeof(identity->name)))
		identity->name[0] = '\0';
	identity->name[sizeof(identity->name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(machine_id_paths) / sizeof(machine_id_paths[0]); i++) {
		if (read_machine_id(root, machine_id_paths[i], identity->id))
			return;
	}
}
