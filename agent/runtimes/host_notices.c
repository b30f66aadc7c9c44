/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/host_notices.h"

#include <errno.h>
#include <string.h>

#include "agent/runtimes/message_socket.h"
#include "lib/base/cleanup.h"

void host_notices_init(struct host_notices *notices)
{
	*notices = (struct host_notices){ 0 };
	pthread_mutex_init(&notices->lock, NULL);
}

void host_notices_deinit(struct host_notices *notices)
{
	for (size_t i = 0; i < notices->waiting.count; i++)
		close_fd(&notices->waiting.items[i].fd);
	host_notice_vector_deinit(&notices->waiting);
	pthread_mutex_destroy(&notices->lock);
}

int host_notices_add(struct host_notices *notices, struct host_notice notice)
{
	int err;

	pthread_mutex_lock(&notices->lock);
	err = host_notice_vector_push(&notices->waiting, notice);
	pthread_mutex_unlock(&notices->lock);
	return err;
}

/* Takes out the first @count. */
static void remove_first(struct host_notice_vector *waiting, size_t count)
{
	if (count && count < waiting->count)
		memmove(waiting->items, waiting->items + count,
			(waiting->count - count) * sizeof(waiting->items[0]));
	waiting->count -= count;
}

void host_notices_send(struct host_notices *notices, int socket, bool may_wait)
{
	int (*send)(int socket, const void *bytes, size_t size, const int *fds, int fd_count) =
		may_wait ? message_send : message_try_send;
	size_t sent = 0;

	pthread_mutex_lock(&notices->lock);
	for (; sent < notices->waiting.count; sent++) {
		struct host_notice *notice = &notices->waiting.items[sent];
		const struct host_request request = {
			.kind = notice->kind,
			.runtime_id = notice->id,
			.memory_ids = { notice->id },
		};

		if (send(socket, &request, sizeof(request), &notice->fd, notice->fd >= 0) ==
		    -EAGAIN)
			break;
		close_fd(&notice->fd);
	}
	remove_first(&notices->waiting, sent);
	pthread_mutex_unlock(&notices->lock);
}
