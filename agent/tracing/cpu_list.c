/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/cpu_list.h"

#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

/* 8192 CPUs, every second one online, take some 20 KB. */
enum { ONLINE_TEXT_BYTES = 32768 };

static int parse_number(const char **cursor, uint32_t *number)
{
	const char *text = *cursor;
	uint32_t value = 0;

	if (*text < '0' || *text > '9')
		return fail(-EBADMSG, "not a list of CPUs");
	for (; *text >= '0' && *text <= '9'; text++) {
		value = value * 10 + (uint32_t)(*text - '0');
		if (value >= CPU_LIST_MAX_CPUS)
			return fail(-E2BIG, "CPU numbers end at %d", CPU_LIST_MAX_CPUS - 1);
	}
	*number = value;
	*cursor = text;
	return 0;
}

int cpu_list_parse(const char *text, struct cpu_list *list)
{
	_cleanup_(free_pointer) uint8_t *present = calloc(CPU_LIST_MAX_CPUS, 1);
	uint32_t count = 0, *cpus;
	int err;

	if (!present)
		return -ENOMEM;
	while (*text && *text != '\n') {
		uint32_t first = 0, last;

		err = parse_number(&text, &first);
		if (err)
			return err;
		last = first;
		if (*text == '-') {
			text++;
			err = parse_number(&text, &last);
			if (err)
				return err;
		}
		if (last < first)
			return fail(-EBADMSG, "not a list of CPUs: %u-%u", first, last);
		memset(present + first, 1, last - first + 1);
		if (*text == ',' && text[1] >= '0' && text[1] <= '9')
			text++;
		else if (*text && *text != '\n')
			return fail(-EBADMSG, "not a list of CPUs");
	}
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX_CPUS; cpu++)
		count += present[cpu];
	cpus = calloc(count ? count : 1, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	list->cpus = cpus;
	list->count = count;
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX_CPUS; cpu++) {
		if (present[cpu])
			*cpus++ = cpu;
	}
	return 0;
}

int cpu_list_read_online(struct cpu_list *list)
{
	const char *path = "/sys/devices/system/cpu/online";
	_cleanup_(free_pointer) char *text = calloc(1, ONLINE_TEXT_BYTES);
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t count;

	if (!text)
		return -ENOMEM;
	if (fd < 0)
		return fail_errno(-errno, "%s", path);
	do {
		count = read(fd, text + size, ONLINE_TEXT_BYTES - 1 - size);
		if (count > 0)
			size += (size_t)count;
	} while (count > 0 || (count < 0 && errno == EINTR));
	if (count < 0)
		return fail_errno(-errno, "%s", path);
	return cpu_list_parse(text, list);
}

/* The file has ranges in order, such as 0-3,8-15. */
int cpu_list_count_numbers(void)
{
	_cleanup_(close_file) FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	char text[256] = "", *last;
	int count;

	if (file && fgets(text, sizeof(text), file) && strchr(text, '\n')) {
		last = text + strlen(text) - 1;
		while (last > text && isdigit((unsigned char)last[-1]))
			last--;
		if (isdigit((unsigned char)*last))
			return atoi(last) + 1;
	}
	count = libbpf_num_possible_cpus();
	return count < 0 ? fail_errno(count, "cannot read the number of possible CPUs") : count;
}

void cpu_list_deinit(struct cpu_list *list)
{
	free(list->cpus);
	*list = (struct cpu_list){ 0 };
}

bool cpu_list_contains(const struct cpu_list *list, uint32_t cpu)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->cpus[i] == cpu)
			return true;
	}
	return false;
}
