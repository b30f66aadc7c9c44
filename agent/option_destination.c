// SPDX-License-Identifier: Apache-2.0
#include "agent/option_destination.h"

#include <stdlib.h>
#include <string.h>

#include "agent/option_values.h"
#include "lib/base/cleanup.h"
#include "reporter/output_files.h"
#include "reporter/weights.h"

enum {
	OUTPUT_MAX_COUNT = 16,
	UPLOAD_MAX_COUNT = 4096,
	/** Profiles that are shown together. */
	OPEN_MAX_COUNT = 8,
	DIFF_COUNT = 2,
};

static int add_path(const struct setting *setting, uint32_t most, char ***paths, uint32_t *count)
{
	char **grown;

	for (uint32_t i = 0; i < *count; i++) {
		if (strcmp((*paths)[i], setting->text) == 0)
			return option_refuse(setting, "given twice; give each path once");
	}
	if (*count == most)
		return option_refuse(setting, "give at most %u of them", most);
	grown = realloc(*paths, (*count + 1) * sizeof(*grown));
	if (!grown)
		return option_out_of_memory();
	*paths = grown;
	grown[*count] = strdup(setting->text);
	if (!grown[*count])
		return option_out_of_memory();
	++*count;
	return 0;
}

int option_set_output(struct options *options, const struct setting *setting)
{
	if (!*setting->text)
		return option_refuse(setting, "give a path ending in " OUTPUT_SUFFIXES ", or -");
	return add_path(setting, OUTPUT_MAX_COUNT, &options->outputs, &options->output_count);
}

int option_set_upload(struct options *options, const struct setting *setting)
{
	if (!*setting->text)
		return option_refuse(setting, "give an ELF file");
	return add_path(setting, UPLOAD_MAX_COUNT, &options->uploads, &options->upload_count);
}

int option_set_open(struct options *options, const struct setting *setting)
{
	if (!*setting->text)
		return option_refuse(setting, "give a path, or -");
	return add_path(setting, OPEN_MAX_COUNT, &options->opens, &options->open_count);
}

int option_set_diff(struct options *options, const struct setting *setting)
{
	if (!*setting->text)
		return option_refuse(setting, "give two paths");
	return add_path(setting, DIFF_COUNT, &options->diffs, &options->diff_count);
}

int option_set_report(struct options *options, const struct setting *setting)
{
	bool flag;
	int error = option_read_flag(setting, &flag);

	if (!error)
		options->report = flag ? REPORT_TO_OUTPUT : REPORT_NONE;
	return error;
}

int option_set_weight(struct options *options, const struct setting *setting)
{
	_cleanup_(text_builder_deinit) struct text_builder names = { 0 };

	if (weight_find(setting->text, &options->weight))
		return 0;
	weights_append_names(&names);
	return option_refuse(setting, "give %s", text_builder_text(&names));
}
