/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes output files. The agent is root and the directory may belong to anybody: the temporary
 * file is always new (O_EXCL), and rename() replaces links instead of following them.
 */

#include "reporter/output_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/file_folder.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "reporter/autofdo.h"
#include "reporter/firefox.h"
#include "reporter/folded.h"
#include "reporter/otlp_file.h"
#include "reporter/speedscope.h"
#include "reporter/stack_table.h"

enum {
	STREAM_BUFFER_BYTES = 1 << 16,
	/* Tries to find an unused file name. */
	TEMPORARY_ATTEMPTS = 16,
};

static const struct {
	const char *suffix;
	enum output_format format;
} suffixes[] = {
	{ ".pb.gz", OUTPUT_PPROF },
	{ ".folded", OUTPUT_FOLDED },
	/* Before the shorter suffix. */
	{ ".afdo.txt", OUTPUT_AUTOFDO },
	{ ".txt", OUTPUT_STACK_TABLE },
	{ ".otlp", OUTPUT_OTLP },
	{ ".html", OUTPUT_PAGE },
	{ ".svg", OUTPUT_SVG },
	{ ".speedscope.json", OUTPUT_SPEEDSCOPE },
	{ ".firefox.json", OUTPUT_FIREFOX },
};

int output_format_of_path(const char *path, enum output_format *format)
{
	if (!strcmp(path, "-")) {
		*format = OUTPUT_FOLDED;
		return 0;
	}
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (text_ends_with(path, suffixes[i].suffix)) {
			*format = suffixes[i].format;
			return 0;
		}
	}
	return fail(-EINVAL, "-output %s: the name must end in " OUTPUT_SUFFIXES ", or be -", path);
}

/* --- a stream that records its error --- */

/*
 * stdio records that a write failed, but not why: when the result is read, errno may be that of
 * another call.
 */
struct output_stream {
	int fd;
	int err;
};

static ssize_t stream_write(void *cookie, const char *bytes, size_t count)
{
	struct output_stream *stream = cookie;
	size_t written = 0;

	while (written < count && !stream->err) {
		ssize_t now = write(stream->fd, bytes + written, count - written);

		if (now > 0)
			written += now;
		else if (!now || errno != EINTR)
			stream->err = now ? -errno : -EIO;
	}
	return stream->err ? 0 : (ssize_t)count;
}

/* --- files --- */

/*
 * Creates a file beside the output, and puts its name into @temporary. Returns its descriptor, or -errno.
 */
static int open_beside(const struct output_file *file, char temporary[FOLDER_NAME_BYTES])
{
	for (int i = 0; i < TEMPORARY_ATTEMPTS; i++) {
		uint64_t number = clock_monotonic_ns();
		int fd, err;

		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
			number += (uint64_t)getpid() << 40;
		snprintf(temporary, FOLDER_NAME_BYTES,
			 FOLDER_TEMPORARY_PREFIX "%016llx" FOLDER_TEMPORARY_SUFFIX,
			 (unsigned long long)number);
		err = file_folder_make(&file->folder, temporary, &fd);
		if (err != -EEXIST)
			return err ? err : fd;
	}
	return -EEXIST;
}

static int check_writable(struct output_file *file)
{
	char temporary[FOLDER_NAME_BYTES];
	struct stat status;
	int fd;

	if (!stat(file->path, &status) && S_ISDIR(status.st_mode))
		return fail(-EINVAL, "-output %s: is a directory", file->path);
	fd = file_folder_init(&file->folder, FOLDER_OUTPUT, file->path);
	if (!fd)
		fd = open_beside(file, temporary);
	if (fd < 0)
		return fail(-EINVAL, "-output %s: no file can be made there: %s", file->path,
			    strerror(-fd));
	/*
	 * The output file itself is created at the end, so that a killed agent leaves nothing
	 * behind.
	 */
	close(fd);
	(void)file_folder_remove(&file->folder, temporary);
	return 0;
}

static int init_file(struct output_file *file, const char *path)
{
	int err = output_format_of_path(path, &file->format);

	file->folder.fd = -1;
	if (err || !strcmp(path, "-"))
		return err;
	file->path = strdup(path);
	return file->path ? check_writable(file) : fail_errno(-ENOMEM, "-output %s", path);
}

int output_files_init(struct output_files *files, const char *const *paths, size_t path_count)
{
	struct output_files fresh = { .count = path_count };
	int err = 0;

	fresh.files = calloc(path_count + 1, sizeof(*fresh.files));
	if (!fresh.files)
		return fail_errno(-ENOMEM, "-output");
	for (size_t i = 0; i < path_count && !err; i++)
		err = init_file(&fresh.files[i], paths[i]);
	if (err) {
		output_files_deinit(&fresh);
		return err;
	}
	*files = fresh;
	return 0;
}

void output_files_deinit(struct output_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->files[i].path)
			file_folder_deinit(&files->files[i].folder);
		free(files->files[i].path);
	}
	free(files->files);
	memset(files, 0, sizeof(*files));
}

bool output_files_need_times(const struct output_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		switch (files->files[i].format) {
		case OUTPUT_OTLP:
		case OUTPUT_SPEEDSCOPE:
		case OUTPUT_FIREFOX:
			return true;
		default:
			break;
		}
	}
	return false;
}

/* --- writing --- */

/* State that the formats share: texts are merged once, for the first format that needs them. */
struct output_job {
	const struct output_files *files;
	const struct sample_snapshot *snapshot;
	const struct profile_info *info;
	struct symbol_lookup *lookup;
	bool has_counts;
	struct stack_counts counts;
};

static int write_otlp(struct output_job *job, FILE *out)
{
	const struct profile_info *info = job->info;
	struct otlp_options options = job->files->otlp ? *job->files->otlp :
							 (struct otlp_options){ 0 };
	const struct otlp_window window = {
		.start_ns = info->start_monotonic_ns,
		.end_ns = info->start_monotonic_ns + info->duration_ns,
		.realtime_offset_ns = (int64_t)(info->start_time_ns - info->start_monotonic_ns),
	};

	options.samples_per_second = info->samples_per_second;
	options.lookup = job->lookup;
	options.info = info;
	return otlp_file_write(out, job->snapshot, &window, &options);
}

static int make_counts(struct output_job *job)
{
	int err = job->has_counts ?
			  0 :
			  stack_counts_init_of(&job->counts, job->snapshot,
					       profile_info_shown_origin(job->info), job->lookup,
					       job->files->with_lines, SIZE_MAX);

	job->has_counts = !err;
	return err;
}

/* True for formats whose stacks are merged by their texts. */
static bool needs_counts(enum output_format format)
{
	return format == OUTPUT_FOLDED || format == OUTPUT_STACK_TABLE || format == OUTPUT_PAGE ||
	       format == OUTPUT_SVG;
}

static int write_format(struct output_job *job, enum output_format format, FILE *out)
{
	int err = needs_counts(format) ? make_counts(job) : 0;

	if (err)
		return err;
	switch (format) {
	case OUTPUT_PPROF:
		return pprof_write(out, job->snapshot, job->info, job->lookup);
	case OUTPUT_OTLP:
		return write_otlp(job, out);
	case OUTPUT_PAGE:
		return job->files->write_page(out, &job->counts, job->snapshot, job->info);
	case OUTPUT_SVG:
		return job->files->write_svg(out, &job->counts, job->snapshot, job->info);
	case OUTPUT_SPEEDSCOPE:
		return speedscope_write(out, job->snapshot, job->info, job->lookup);
	case OUTPUT_FIREFOX:
		return firefox_write(out, job->snapshot, job->info, job->lookup);
	case OUTPUT_AUTOFDO:
		return autofdo_write(out, job->snapshot, job->info, job->lookup);
	case OUTPUT_FOLDED:
		folded_write(out, &job->counts);
		return 0;
	case OUTPUT_STACK_TABLE:
		return stack_table_write(out, &job->counts, job->snapshot, job->info);
	}
	return -EINVAL;
}

/* Writes the whole output to @fd, which stays open. */
static int write_descriptor(struct output_job *job, enum output_format format, int fd)
{
	const cookie_io_functions_t functions = { .write = stream_write };
	struct output_stream stream = { .fd = fd };
	FILE *out = fopencookie(&stream, "w", functions);
	int err;

	if (!out)
		return -ENOMEM;
	setvbuf(out, NULL, _IOFBF, STREAM_BUFFER_BYTES);
	err = write_format(job, format, out);
	/* Flushes; a failure is in stream.err. */
	fclose(out);
	return err ? err : stream.err;
}

static int write_file(struct output_job *job, const struct output_file *file)
{
	char temporary[FOLDER_NAME_BYTES];
	int fd = open_beside(file, temporary);
	int err;

	if (fd < 0)
		return fd;
	err = write_descriptor(job, file->format, fd);
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err)
		err = file_folder_move(&file->folder, temporary, "");
	if (err)
		(void)file_folder_remove(&file->folder, temporary);
	return err;
}

int output_files_write(struct output_files *files, const struct sample_snapshot *snapshot,
		       const struct profile_info *info, struct symbol_lookup *lookup)
{
	struct output_job job = {
		.files = files,
		.snapshot = snapshot,
		.info = info,
		.lookup = lookup,
	};
	int first_err = 0;

	for (size_t i = 0; i < files->count; i++) {
		const struct output_file *file = &files->files[i];
		int err = file->path ? write_file(&job, file) :
				       write_descriptor(&job, file->format, STDOUT_FILENO);

		if (!err)
			continue;
		log_error("%s: %s; the output is not written",
			  file->path ? file->path : "standard output", strerror(-err));
		if (!first_err)
			first_err = err;
	}
	stack_counts_deinit(&job.counts);
	return first_err;
}
