/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats pread until all bytes are read. */

#include "lib/base/read_exactly.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "lib/base/error.h"

int read_exactly(int fd, uint64_t offset, void *buffer, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t count = pread(fd, (char *)buffer + done, bytes - done, offset + done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return fail_errno(-errno, "cannot read at %#" PRIx64, offset + done);
		if (!count)
			return fail(-EBADMSG, "the file was cut to less than %#" PRIx64 " bytes",
				    offset + bytes);
		done += count;
	}
	return 0;
}
