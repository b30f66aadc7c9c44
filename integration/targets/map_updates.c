/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates a large value of a BPF map again and again. Meanwhile the kernel runs no programs of perf events on that CPU: it
 * skips those whose ticks come then. The pauses leave most of the ticks to other tests.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VALUE_BYTES = 1 << 20, PAUSE_US = 1000 };

static long call_bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

int main(void)
{
	static char value[VALUE_BYTES];
	union bpf_attr attributes;
	unsigned int key = 1;
	int map;

	memset(&attributes, 0, sizeof(attributes));
	attributes.map_type = BPF_MAP_TYPE_HASH;
	attributes.key_size = sizeof(key);
	attributes.value_size = VALUE_BYTES;
	attributes.max_entries = 1;
	map = (int)call_bpf(BPF_MAP_CREATE, &attributes);
	if (map < 0) {
		perror("bpf");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	memset(&attributes, 0, sizeof(attributes));
	attributes.map_fd = (unsigned int)map;
	attributes.key = (unsigned long)&key;
	attributes.value = (unsigned long)value;
	while (!call_bpf(BPF_MAP_UPDATE_ELEM, &attributes))
		usleep(PAUSE_US);
	perror("bpf");
	return 1;
}
