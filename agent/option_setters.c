// SPDX-License-Identifier: Apache-2.0
#include "agent/option_setters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/option_values.h"
#include "ebpf/abi/slab.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

int option_out_of_memory(void)
{
	return fail(-ENOMEM, "out of memory while the options are read");
}

static void *field_of(struct options *options, const struct setting *setting)
{
	return (char *)options + setting->option->offset;
}

int option_set_number(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	uint64_t number;

	if (option_parse_number(setting->text, &number) || number < option->minimum ||
	    number > option->maximum)
		return option_refuse(setting, "give a number from %llu to %llu",
				     (unsigned long long)option->minimum,
				     (unsigned long long)option->maximum);
	*(uint32_t *)field_of(options, setting) = number;
	return 0;
}

int option_set_duration(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	bool in_seconds = option->minimum % NS_PER_SECOND == 0;
	uint64_t duration_ns;

	if (option_parse_duration(setting->text, &duration_ns))
		return option_refuse(setting, "give a duration such as 100ms, 5s, 2m30s or 1h");
	if (duration_ns < option->minimum || duration_ns > option->maximum)
		return option_refuse(setting, "give a duration from %llu%s to %lluh",
				     (unsigned long long)(option->minimum /
							  (in_seconds ? NS_PER_SECOND : NS_PER_MS)),
				     in_seconds ? "s" : "ms",
				     (unsigned long long)(option->maximum / NS_PER_HOUR));
	*(uint64_t *)field_of(options, setting) = duration_ns;
	return 0;
}

int option_set_size(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	uint64_t bytes;

	if (option_parse_size(setting->text, &bytes) || bytes < option->minimum ||
	    bytes > option->maximum)
		return option_refuse(setting, "give a size from %lluM to %lluM, such as 256M",
				     (unsigned long long)(option->minimum >> 20),
				     (unsigned long long)(option->maximum >> 20));
	*(uint64_t *)field_of(options, setting) = bytes - bytes % SLAB_BYTES;
	return 0;
}

int option_read_flag(const struct setting *setting, bool *flag)
{
	const char *text = setting->text;

	if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
		*flag = true;
	else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
		*flag = false;
	else
		return option_refuse(setting, "give true or false, or the option without a value");
	return 0;
}

int option_set_path(struct options *options, const struct setting *setting)
{
	char **field = field_of(options, setting);
	char *path;

	if (!*setting->text)
		return option_refuse(setting, "give a path");
	path = strdup(setting->text);
	if (!path)
		return option_out_of_memory();
	free(*field);
	*field = path;
	return 0;
}

int option_set_switch(struct options *options, const struct setting *setting)
{
	return option_read_flag(setting, field_of(options, setting));
}

int option_set_fraction(struct options *options, const struct setting *setting)
{
	if (option_parse_fraction(setting->text, field_of(options, setting)))
		return option_refuse(setting, "give a number from 0 to 1, such as 0.2");
	return 0;
}
