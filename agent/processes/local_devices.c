/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices and their file systems. A container chooses mount points and sources in mountinfo; only the device
 * numbers and the type, which the kernel writes, are used.
 */
#include "agent/processes/local_devices.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/host/line_reader.h"

enum {
	DEVICES_MAX = 1 << 14,
	MOUNTINFO_MAX_BYTES = 16 << 20,
};

/* Device numbers may be reused after an unmount. */
#define REMEMBER_NS (60 * NS_PER_SECOND)

enum device_kind {
	DEVICE_REMOTE,
	DEVICE_LOCAL,
};

static const char *const local_types[] = {
	"ext2",	    "ext3", "ext4",  "xfs",   "btrfs",	  "tmpfs",     "ramfs",	  "rootfs",
	"devtmpfs", "zfs",  "f2fs",  "jfs",   "reiserfs", "bcachefs",  "overlay", "squashfs",
	"erofs",    "vfat", "exfat", "ntfs3", "iso9660",  "hugetlbfs", "udf",	  "nilfs2",
};

void local_devices_init(struct local_devices *devices)
{
	memset(devices, 0, sizeof(*devices));
}

void local_devices_deinit(struct local_devices *devices)
{
	hash_map_deinit(&devices->kinds);
}

static bool type_is_local(const char *type, size_t length)
{
	for (size_t i = 0; i < sizeof(local_types) / sizeof(local_types[0]); i++)
		if (strlen(local_types[i]) == length && !memcmp(type, local_types[i], length))
			return true;
	return false;
}

bool mountinfo_line_parse(const char *line, size_t length, uint64_t *device, bool *is_local)
{
	/* mount id, parent id, major:minor root point options [tags ...] - type source options */
	static const char separator[] = " - ";
	unsigned int major_number, minor_number;
	const char *type, *end;
	char head[64];
	size_t head_bytes = length < sizeof(head) - 1 ? length : sizeof(head) - 1;

	memcpy(head, line, head_bytes);
	head[head_bytes] = '\0';
	if (sscanf(head, "%*d %*d %u:%u ", &major_number, &minor_number) != 2)
		return false;
	type = memmem(line, length, separator, strlen(separator));
	if (!type)
		return false;
	type += strlen(separator);
	end = memchr(type, ' ', line + length - type);
	*device = makedev(major_number, minor_number);
	*is_local = type_is_local(type, (end ? end : line + length) - type);
	return true;
}

static int take_line(void *context, const char *line, size_t length)
{
	struct hash_map *kinds = context;
	uint64_t device;
	bool is_local;

	if (!mountinfo_line_parse(line, length, &device, &is_local) || kinds->count >= DEVICES_MAX)
		return 0;
	return hash_map_set(kinds, device, is_local ? DEVICE_LOCAL : DEVICE_REMOTE);
}

/* Adds the device of memfd_create() files and shared anonymous memory, whose mount is not listed. */
static void learn_memory_device(struct hash_map *kinds)
{
	_cleanup_(close_fd) int fd = memfd_create("device", MFD_CLOEXEC);
	struct stat status;

	if (fd >= 0 && !fstat(fd, &status))
		hash_map_set(kinds, status.st_dev, DEVICE_LOCAL);
}

/* Devices that could be read are added; the others count as remote. */
static bool learn_mounts(struct hash_map *kinds, const char *proc_root, const char *process)
{
	_cleanup_(close_fd) int fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/mountinfo", proc_root, process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)lines_of_fd(fd, MOUNTINFO_MAX_BYTES, take_line, kinds);
	return true;
}

bool local_devices_contain(struct local_devices *devices, const char *proc_root, pid_t pid,
			   uint32_t major_number, uint32_t minor_number, uint64_t now_ns)
{
	uint64_t device = makedev(major_number, minor_number);
	uint64_t kind = DEVICE_REMOTE;
	char process[16];
	bool is_read;

	if (now_ns >= devices->forget_ns || devices->kinds.count >= DEVICES_MAX) {
		hash_map_deinit(&devices->kinds);
		learn_memory_device(&devices->kinds);
		learn_mounts(&devices->kinds, proc_root, "self");
		/* In a chroot, the mount of the root itself is listed only for other processes. */
		learn_mounts(&devices->kinds, proc_root, "1");
		devices->forget_ns = now_ns + REMEMBER_NS;
	}
	if (hash_map_find(&devices->kinds, device, &kind))
		return kind == DEVICE_LOCAL;
	/* Mounts of a container, which cannot be read once the leader has exited. */
	snprintf(process, sizeof(process), "%d", pid);
	is_read = learn_mounts(&devices->kinds, proc_root, process);
	if (!hash_map_find(&devices->kinds, device, &kind) && is_read)
		hash_map_set(&devices->kinds, device, DEVICE_REMOTE);
	return kind == DEVICE_LOCAL;
}

uint32_t local_devices_list(const struct local_devices *devices, uint64_t *list, uint32_t max)
{
	uint64_t device, kind;
	uint32_t count = 0;
	size_t cursor = 0;

	while (count < max && hash_map_next(&devices->kinds, &cursor, &device, &kind))
		if (kind == DEVICE_LOCAL)
			list[count++] = device;
	return count;
}
