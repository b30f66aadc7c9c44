/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/log.h"

enum { SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL };

int sealed_file_create(const char *name, int *fd)
{
	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return *fd < 0 ? fail_errno(-errno, "cannot make a file in memory for %s", name) : 0;
}

int sealed_file_write(int fd, const void *bytes, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t written =
			pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return fail_errno(written ? -errno : -EIO, "cannot write a file in memory");
		done += (size_t)written;
	}
	return 0;
}

int sealed_file_seal(int fd, uint64_t size)
{
	return ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, SEALS) ?
		       fail_errno(-errno, "cannot seal a file in memory") :
		       0;
}

void sealed_file_drop(int fd)
{
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) || ftruncate(fd, 0))
		log_debug("a file in memory cannot be emptied: %m");
}

bool sealed_file_is_one(int fd)
{
	return fcntl(fd, F_GET_SEALS) == SEALS;
}
