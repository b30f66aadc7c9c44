/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/waiting_roots.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"

void waiting_roots_add(struct waiting_roots *waiting, uint64_t executable_id, int fd,
		       uint64_t now_ns)
{
	int copy;

	if (waiting->count == WAITING_ROOTS_MAX)
		return;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return;
	waiting->roots[waiting->count++] = (struct waiting_root){
		.executable_id = executable_id,
		.since_ns = now_ns,
		.fd = copy,
	};
}

static int remove_root(struct waiting_roots *waiting, size_t i)
{
	int fd = waiting->roots[i].fd;

	waiting->count--;
	memmove(&waiting->roots[i], &waiting->roots[i + 1],
		(waiting->count - i) * sizeof(waiting->roots[0]));
	return fd;
}

int waiting_roots_take(struct waiting_roots *waiting, uint64_t executable_id)
{
	for (size_t i = 0; i < waiting->count; i++)
		if (waiting->roots[i].executable_id == executable_id)
			return remove_root(waiting, i);
	return -1;
}

void waiting_roots_close_old(struct waiting_roots *waiting, uint64_t now_ns)
{
	while (waiting->count && now_ns > waiting->roots[0].since_ns + NS_PER_SECOND)
		close(remove_root(waiting, 0));
}
