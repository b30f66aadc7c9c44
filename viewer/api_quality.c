/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_quality.h"

#include "lib/base/cleanup.h"
#include "lib/base/text_builder.h"
#include "lib/model/languages.h"
#include "viewer/quality.h"

/* Limit of each list. */
enum { ROWS_MAX = 200 };

static void put_reason(json_t *object, const uint64_t reasons[REASON_COUNT])
{
	struct quality_reason reason = quality_reason(reasons);

	put_text(object, "reason", reason.text);
	put_number(object, "reason_count", reason.count);
	put_text(object, "mend", reason.mend);
}

/*
 * The runtime that the process's attributes name, else the languages of its frames: "python, java".
 */
static void put_runtime(json_t *object, const struct process_quality *row)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	const struct process_info *info = row->key->process;
	const char *name = info ? process_info_attribute(info, "process.runtime.name") : "";

	if (*name) {
		put_text(object, "runtime", name);
		return;
	}
	for (uint32_t left = row->languages; left; left &= left - 1) {
		const struct language_id *language =
			language_by_kind(FRAME_FIRST_INTERPRETED + __builtin_ctz(left));

		text_builder_format(&text, "%s%s", text.length ? ", " : "", language->name);
	}
	put_text(object, "runtime", text_builder_text(&text));
}

static json_t *process_json(const struct process_quality *row)
{
	const struct process_info *info = row->key->process;
	json_t *object = json_object();

	put_number(object, "pid", row->key->pid);
	put_text(object, "comm", row->key->process_comm);
	put_text(object, "host", sample_host(row->key));
	put_text(object, "executable", info ? info->executable_path : "");
	put_runtime(object, row);
	put_number(object, "samples", row->samples);
	put_number(object, "complete", row->complete);
	put_number(object, "frames", row->frames);
	put_number(object, "named", row->named);
	put_reason(object, row->reasons);
	return object;
}

static json_t *binary_json(const struct binary_quality *row, const struct debug_packages *packages)
{
	const char *advice = debug_packages_advice(packages, row->binary);
	const struct binary *binary = row->binary;
	struct quality_reason names_reason = quality_names_reason(row);
	struct text_builder build_id = { 0 };
	json_t *object = json_object();

	for (uint32_t i = 0; i < binary->build_id_bytes; i++)
		text_builder_format(&build_id, "%02x", binary->build_id[i]);
	put_text(object, "file", binary->path);
	put_text(object, "build_id", text_builder_text(&build_id));
	put_number(object, "samples", row->samples);
	put_number(object, "complete", row->complete);
	put_number(object, "frames", row->frames);
	put_number(object, "named", row->named);
	put_reason(object, row->reasons);
	put_text(object, "names_reason", names_reason.text);
	put_text(object, "names_mend", *names_reason.mend && advice ? advice : names_reason.mend);
	text_builder_deinit(&build_id);
	return object;
}

/* Finds the packages of the files in the first rows that lack names. */
static int find_packages(const struct quality *quality, struct debug_packages *packages)
{
	struct nameless_file files[ROWS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < quality->binaries.count && i < ROWS_MAX; i++) {
		const struct binary_quality *row = &quality->binaries.items[i];

		/* Files of other machines are not here. */
		if (row->named < row->frames && !*sample_host(row->key))
			files[count++] = (struct nameless_file){
				.binary = row->binary,
				.pid = row->key->pid,
				.container = sample_container(row->key),
			};
	}
	return debug_packages_look_up(packages, files, count);
}

static void put_rows(const struct quality *quality, const struct debug_packages *packages,
		     json_t *object)
{
	json_t *processes = json_array(), *binaries = json_array();

	for (size_t i = 0; i < quality->processes.count && i < ROWS_MAX; i++)
		json_array_append_new(processes, process_json(&quality->processes.items[i]));
	for (size_t i = 0; i < quality->binaries.count && i < ROWS_MAX; i++)
		json_array_append_new(binaries, binary_json(&quality->binaries.items[i], packages));
	json_object_set_new(object, "processes", processes);
	json_object_set_new(object, "binaries", binaries);
}

int answer_quality(struct question *question, json_t *object)
{
	_cleanup_(quality_deinit) struct quality quality;
	int err = quality_count(&quality, question);

	if (!err)
		err = find_packages(&quality, &question->api->packages);
	if (err)
		return err;
	put_number(object, "samples", quality.samples);
	put_number(object, "complete", quality.complete);
	put_rows(&quality, &question->api->packages, object);
	return 0;
}
