/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every JVM of the machine runs JavaTarget, which prints what the JVM reports about itself: its version, the size of
 * its code heaps, and each compiled method. The test reads the same from outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "ebpf/abi/java.h"
#include "interpreters/java/java_code.h"
#include "interpreters/java/java_layout.h"
#include "interpreters/java/java_lines.h"
#include "interpreters/java/java_names.h"
#include "interpreters/java/java_scopes.h"
#include "interpreters/java/tests/live_java.h"

enum {
	/** Distance between the pcs that are checked in a method's code; in the target's methods all pcs are. */
	STEP_BYTES = 16,
	/** In the short tier only one of so many methods that are not the target's is checked. */
	SHORT_METHODS = 8,
	LINE_BYTES = 16384,
	/** A JVM that compiles has at least so many compiled methods; fewer would be no test. */
	LEAST_METHODS = 100,
};

/* The state of a check of a process, and counts of the objects that were compared with the target's output. */
struct check {
	struct live_java java;
	struct java_layout layout;
	struct java_heaps heaps;
	struct runtime *attached;
	const char *path;
	uint32_t heap_count;
	uint32_t method_count;
	/** Methods that are not the target's, checked or left out. */
	uint32_t scopes_count;
	/** Number of pcs with a record, and of methods of JavaTarget that are inlined into each other. */
	uint32_t exact_count;
	uint32_t inlined_count;
	/** The stack that the target has printed, and how often the same stack was read. */
	char chain[256];
	uint32_t chain_count;
	/** Number of pcs with a record that are no return addresses; only DebugNonSafepoints makes them. */
	uint32_t described_count;
};

struct setting {
	const char *const *options;
	bool is_all_described;
};

static void check_version(struct check *check, const char *line)
{
	char spec[32], release[256], told[256] = "";
	struct remote_memory *memory = &check->java.memory.memory;
	uint64_t text;

	assert_int_equal(sscanf(line, "version %31s %255s", spec, release), 2);
	assert_int_equal(check->layout.version, atoi(!strncmp(spec, "1.", 2) ? spec + 2 : spec));
	assert_int_equal(remote_memory_read(memory, check->layout.vm_release, &text, sizeof(text)),
			 0);
	assert_int_equal(remote_memory_read(memory, text, told, strlen(release) + 1), 0);
	assert_string_equal(told, release);
}

/* The JVM rounds the size of a heap that it prints, by less than a page. */
static void check_heap(struct check *check, const char *line)
{
	long size, used;
	bool is_found = false;

	assert_int_equal(sscanf(line, "heap %ld %ld", &size, &used), 2);
	for (uint32_t i = 0; i < check->heaps.count; i++)
		is_found |= (long)(check->heaps.heaps[i].high - check->heaps.heaps[i].low) == size;
	if (!is_found)
		print_message("%s: no %s\n", check->path, line);
	assert_true(is_found);
	check->heap_count++;
}

/* Cuts from a name of Java's own lists the suffix of hidden classes, as the names of samples do. */
static void cut_hidden(char *name)
{
	char *suffix = strstr(name, "/0x");

	if (suffix) {
		const char *end = suffix + 3 + strspn(suffix + 3, "0123456789abcdef");

		memmove(suffix, end, strlen(end) + 1);
	}
}

static void check_frame(struct check *check, const struct java_blob *blob, uint64_t method,
			const char *name)
{
	java_text text;

	assert_int_equal(java_method_name(&check->layout, &check->java.memory.memory, method, true,
					  text),
			 0);
	if (strcmp(text, name) != 0)
		print_message("%s: %s at %#lx\n", check->path, name, (long)blob->address);
	assert_string_equal(text, name);
}

/*
 * The frame of a compiled method has at least the return address and the frame pointer. Methods of method handles,
 * which only pass arguments on, have no frame.
 */
static void check_frame_size(const struct check *check, const struct java_blob *blob,
			     const char *name)
{
	bool is_linker = strstr(name, "java.lang.invoke.MethodHandle.") == name;
	int32_t size = (int32_t)(blob->code_end - blob->code_start);

	if (is_linker && !blob->frame_bytes)
		return;
	if (blob->frame_bytes < 16 || blob->frame_complete < 0 || blob->frame_complete >= size)
		print_message("%s: %s, frame of %u from %d\n", check->path, name, blob->frame_bytes,
			      blob->frame_complete);
	assert_true(blob->frame_bytes >= 16);
	assert_true(blob->frame_complete >= 0 && blob->frame_complete < size);
}

/* True if line @line of the target's source contains @text. */
static bool source_has(uint32_t line, const char *text)
{
	FILE *file = fopen("interpreters/java/tests/JavaTarget.java", "r");
	char buffer[256] = "";

	assert_non_null(file);
	for (uint32_t i = 0; i < line; i++)
		if (!fgets(buffer, sizeof(buffer), file))
			buffer[0] = '\0';
	fclose(file);
	return strstr(buffer, text) != NULL;
}

/* Checks a method of the target and the one that it is inlined into: the line of the latter must have the call. */
static void check_inlined(struct check *check, const struct java_scope *callee,
			  const struct java_scope *caller)
{
	struct remote_memory *memory = &check->java.memory.memory;
	struct java_lines lines;
	java_text name, file;

	assert_int_equal(java_method_name(&check->layout, memory, callee->method, false, name), 0);
	if (strcmp(name, "JavaTarget.divide") != 0)
		return;
	assert_int_equal(java_lines_of(&check->layout, memory, caller->method,
				       (uint32_t)caller->bci, &lines),
			 0);
	assert_true(source_has(lines.line, " divide("));
	assert_int_equal(java_lines_of(&check->layout, memory, callee->method,
				       callee->bci > 0 ? (uint32_t)callee->bci : 0, &lines),
			 0);
	assert_true(source_has(lines.line, "a / b"));
	assert_true(source_has(lines.start_line, "a / b"));
	assert_int_equal(java_source_file(&check->layout, memory, callee->method, file), 0);
	assert_string_equal(file, "JavaTarget.java");
	check->inlined_count++;
}

static bool is_described(struct check *check, const struct java_blob *blob, uint32_t offset)
{
	struct java_scopes scopes;

	assert_int_equal(java_scopes_read(&check->layout, &check->java.memory.memory, blob, offset,
					  false, NULL, &scopes),
			 0);
	return scopes.is_exact;
}

/* Checks that the debug information of the pcs in a method's code is consistent. */
static void check_scopes(struct check *check, const struct java_blob *blob, uint64_t method)
{
	struct remote_memory *memory = &check->java.memory.memory;
	struct java_scopes scopes;
	java_text name;
	uint32_t step;

	assert_int_equal(java_method_name(&check->layout, memory, method, false, name), 0);
	step = strstr(name, "JavaTarget.") == name ? 1 : STEP_BYTES;
	if (step > 1 && check->scopes_count++ % SHORT_METHODS && !getenv("ALLFRAMES_LONG"))
		return;
	for (uint32_t at = 0; at < blob->code_end - blob->code_start; at += step) {
		assert_int_equal(
			java_scopes_read(&check->layout, memory, blob, at, true, NULL, &scopes), 0);
		assert_in_range(scopes.count, 1, JAVA_MAX_SCOPES);
		assert_int_equal(scopes.scopes[scopes.count - 1].method, method);
		check->exact_count += scopes.is_exact;
		check->described_count += step == 1 && is_described(check, blob, at);
		for (uint32_t i = 0; i < scopes.count; i++) {
			const struct java_scope *scope = &scopes.scopes[i];
			struct java_lines lines;
			int err;

			assert_in_range(scope->bci + 1, 0, UINT16_MAX + 1);
			assert_int_equal(java_method_name(&check->layout, memory, scope->method,
							  false, name),
					 0);
			err = java_lines_of(&check->layout, memory, scope->method,
					    scope->bci > 0 ? (uint32_t)scope->bci : 0, &lines);
			/* Methods that the runtime generates have no lines. */
			assert_true(err == 0 || err == -ENOENT);
			if (i + 1 < scopes.count)
				check_inlined(check, scope, scope + 1);
		}
	}
}

/* Reads the frames of the pc at @offset in the nmethod's code. */
static int read_frames(struct check *check, const struct java_blob *blob,
		       const struct java_nmethod *nmethod, uint32_t offset, uint8_t flags,
		       struct interpreted_frames *frames)
{
	uint32_t fingerprint = fingerprint_of(nmethod->method, nmethod->compile_id);
	uint64_t position = JAVA_COMPILED | offset;
	uint64_t words[2] = { frame_word(FRAME_JAVA, flags, blob->address),
			      position << 32 | fingerprint };
	uint32_t object = 0;

	return java_language.ops->symbolize(check->attached, &check->java.memory.memory, words,
					    &object, frames);
}

/*
 * Checks that the physical frame of the nmethod has the name at any pc, of a call or interrupted, and that there is no
 * frame with another compile id.
 */
static void check_symbol(struct check *check, const struct java_blob *blob,
			 const struct java_nmethod *nmethod, const char *name)
{
	uint32_t offset = (uint32_t)(blob->code_end - blob->code_start) / 2;
	struct java_nmethod other = *nmethod;

	for (uint8_t flags = 0; flags <= FRAME_RETURN_ADDRESS; flags++) {
		struct interpreted_frames frames;
		const struct interpreted_frame *last;

		assert_int_equal(read_frames(check, blob, nmethod, offset, flags, &frames), 0);
		last = &frames.items[frames.count - 1];
		assert_int_equal(strncmp(last->function, name, strlen(last->function)), 0);
		assert_int_equal(name[strlen(last->function)], '(');
		for (uint32_t i = 0; i < frames.count; i++)
			assert_int_equal(frames.items[i].is_inlined, i + 1 < frames.count);
	}
	other.compile_id++;
	assert_int_equal(read_frames(check, blob, &other, offset, 0,
				     &(struct interpreted_frames){ 0 }),
			 -ESTALE);
}

/* True if the frames are those of the target's line "chain", innermost first. */
static bool are_chain(const struct check *check, const struct interpreted_frames *frames)
{
	char text[LINE_BYTES] = "";

	for (uint32_t i = 0; i < frames->count; i++) {
		const struct interpreted_frame *frame = &frames->items[i];
		size_t length = strlen(text);

		if (frame->is_approximate || !frame->file ||
		    strcmp(frame->file, "JavaTarget.java") != 0)
			return false;
		snprintf(text + length, sizeof(text) - length, " %s:%u", frame->function,
			 frame->line);
	}
	return !strcmp(text, check->chain);
}

/*
 * At the return from where(), deep() has five inlined methods, with the lines that Java has printed. At least one of
 * its compiled versions must have them.
 */
static void look_for_chain(struct check *check, const struct java_blob *blob,
			   const struct java_nmethod *nmethod)
{
	struct interpreted_frames frames;

	for (uint32_t at = 0; at < blob->code_end - blob->code_start; at++) {
		assert_int_equal(
			read_frames(check, blob, nmethod, at, FRAME_RETURN_ADDRESS, &frames), 0);
		check->chain_count += are_chain(check, &frames);
	}
}

/* Checks that the deoptimization handler is known and in the method's code; native wrappers have none. */
static void check_handler(struct check *check, const struct java_blob *blob, const char *name)
{
	const struct java_process *data = (const struct java_process *)check->attached->data;
	struct remote_memory *memory = &check->java.memory.memory;
	uint64_t handler = 0;

	assert_true(data->deopt_handler_bytes == 4 || data->deopt_handler_bytes == 8);
	assert_int_equal(remote_memory_read(memory, blob->address + data->nmethod_deopt_handler,
					    &handler, data->deopt_handler_bytes),
			 0);
	if (data->deopt_handler_bytes == 4)
		handler = blob->address + (uint64_t)(int32_t)handler;
	assert_int_equal(handler > blob->code_start && handler < blob->code_end,
			 !strcmp(name, "nmethod"));
}

/* Checks a line "ID LEVEL STATE NAME [HEADER, CODE - END]", as CodeCache::print_codelist() prints it. */
static void check_method(struct check *check, const char *line)
{
	struct remote_memory *memory = &check->java.memory.memory;
	char name[LINE_BYTES], blob_name[JAVA_BLOB_NAME_BYTES];
	unsigned long header, start, end;
	struct java_nmethod nmethod;
	uint32_t id, level;
	int32_t state;
	struct java_blob blob;

	if (sscanf(line, "code %u %u %d %16383s [%lx, %lx - %lx]", &id, &level, &state, name,
		   &header, &start, &end) != 7)
		return;
	cut_hidden(name);
	for (unsigned long at = start; at < end; at += (end - start) / 3 + 1)
		assert_int_equal(java_blob_find(&check->layout, &check->heaps, memory, at, &blob),
				 0);
	assert_int_equal(java_blob_find(&check->layout, &check->heaps, memory, end - 1, &blob), 0);
	assert_int_equal(blob.address, header);
	assert_int_equal(blob.code_start, start);
	assert_int_equal(blob.code_end, end);
	assert_true(blob.is_nmethod);
	check_frame_size(check, &blob, name);
	assert_int_equal(java_blob_name(&check->layout, memory, &blob, blob_name), 0);
	assert_true(!strcmp(blob_name, "nmethod") || !strcmp(blob_name, "native nmethod"));
	check_handler(check, &blob, blob_name);
	assert_int_equal(java_nmethod_read(&check->layout, memory, &blob, &nmethod), 0);
	assert_int_equal(nmethod.compile_id, id);
	assert_int_equal(nmethod.comp_level, level);
	/* It may have been deoptimized since the list was made. */
	assert_true(nmethod.state >= state);
	assert_true(nmethod.entry_bci >= -1 && nmethod.entry_bci <= UINT16_MAX);
	check_frame(check, &blob, nmethod.method, name);
	check_symbol(check, &blob, &nmethod, name);
	check_scopes(check, &blob, nmethod.method);
	check->method_count++;
}

/*
 * Counts the compiled methods named @name in all segments of all heaps. The short tier checks one segment of each
 * blob, and those outside of blobs.
 */
static uint32_t count_compiled(struct check *check, const char *name)
{
	struct remote_memory *memory = &check->java.memory.memory;
	bool is_short = !getenv("ALLFRAMES_LONG");
	uint32_t count = 0;

	for (uint32_t i = 0; i < check->heaps.count; i++) {
		const struct java_heap *heap = &check->heaps.heaps[i];
		uint64_t last = 0;

		for (uint64_t at = heap->low; at < heap->high;
		     at += 1ULL << heap->log2_segment_size) {
			struct java_nmethod nmethod;
			struct java_blob blob;
			java_text text;

			if (java_blob_find(&check->layout, &check->heaps, memory, at, &blob) ||
			    blob.address == last)
				continue;
			last = blob.address;
			if (is_short && blob.code_end > at)
				at += (blob.code_end - 1 - at) >>
				      heap->log2_segment_size << heap->log2_segment_size;
			if (!blob.is_nmethod)
				continue;
			assert_int_equal(java_nmethod_read(&check->layout, memory, &blob, &nmethod),
					 0);
			assert_int_equal(java_method_name(&check->layout, memory, nmethod.method,
							  false, text),
					 0);
			count += !strcmp(text, name);
			if (!strcmp(text, "JavaTarget.deep"))
				look_for_chain(check, &blob, &nmethod);
			/* 8 prints no list of compiled methods. */
			if (check->layout.version == 8)
				check_scopes(check, &blob, nmethod.method);
		}
	}
	return count;
}

static uint64_t word_at(struct check *check, uint64_t address)
{
	uint64_t word = 0;

	assert_int_equal(
		remote_memory_read(&check->java.memory.memory, address, &word, sizeof(word)), 0);
	return word;
}

/* Checks that java_blob_find() finds and names the runtime's stubs and its interpreter, and fails outside of the code. */
static void check_runtime_code(struct check *check)
{
	struct remote_memory *memory = &check->java.memory.memory;
	char name[JAVA_BLOB_NAME_BYTES];
	uint64_t interpreter = word_at(check, check->layout.interpreter_code), buffer;
	struct java_blob blob;
	int err;

	assert_int_equal(java_blob_find(&check->layout, &check->heaps, memory,
					word_at(check, check->layout.call_stub_return_address),
					&blob),
			 0);
	assert_int_equal(java_blob_name(&check->layout, memory, &blob, name), 0);
	assert_true(strstr(name, "StubRoutines") == name || strstr(name, "Stub Generator"));
	assert_false(blob.is_nmethod);
	buffer = word_at(check, interpreter + check->layout.queue_buffer.offset);
	assert_int_equal(java_blob_find(&check->layout, &check->heaps, memory, buffer, &blob), 0);
	assert_int_equal(java_blob_name(&check->layout, memory, &blob, name), 0);
	assert_string_equal(name, "Interpreter");
	/* The address may be in the reserved part of another heap, whose segment map has no memory for it yet. */
	err = java_blob_find(&check->layout, &check->heaps, memory, check->heaps.heaps[0].low - 1,
			     &blob);
	assert_true(err == -ENOENT || err == -EFAULT);
}

static int attach(struct check *check)
{
	struct remote_memory *memory = &check->java.memory.memory;
	const struct attach_target target = { .pid = (uint32_t)check->java.pid,
					      .memory = memory,
					      .bias = check->java.bias };

	return java_language.ops->attach(check->java.file, &target, &check->attached);
}

/* Checks the data for the kernel side: it must agree with the heaps read here, and with the runtime's own code. */
static void check_data(const struct check *check)
{
	const struct java_process *data = (const struct java_process *)check->attached->data;
	struct remote_memory *memory = (struct remote_memory *)&check->java.memory.memory;
	char name[JAVA_BLOB_NAME_BYTES];
	struct java_blob blob;

	/* The test makes no unwind rows. */
	assert_int_equal(check->attached->data_bytes, sizeof(*data));
	assert_int_equal(data->stubs.page_count, 0);
	for (uint32_t i = 0; i < JAVA_MAX_HEAPS; i++) {
		assert_int_equal(data->heaps[i].bytes != 0, i < check->heaps.count);
		assert_int_equal(data->heaps[i].start, check->heaps.heaps[i].low);
	}
	assert_int_equal(java_blob_find(&check->layout, &check->heaps, memory,
					data->interpreter_end - 1, &blob),
			 0);
	assert_true(data->interpreter_start >= blob.code_start);
	assert_int_equal(java_blob_name(&check->layout, memory, &blob, name), 0);
	assert_string_equal(name, "Interpreter");
	assert_int_equal(java_blob_find(&check->layout, &check->heaps, memory,
					data->call_stub_return, &blob),
			 0);
	assert_false(blob.is_nmethod);
}

static void check_java(const char *path, const char *const *options, bool is_all_described)
{
	struct check check = { .path = path };
	bool is_complete = false;
	char line[LINE_BYTES];
	int err = live_java_start(&check.java, path, options);

	assert_int_equal(err, 0);
	while (!is_complete && fgets(line, sizeof(line), check.java.output)) {
		line[strcspn(line, "\n")] = '\0';
		if (!check.java.bias) {
			struct remote_memory *memory;

			err = live_java_find(&check.java);
			memory = &check.java.memory.memory;
			if (!err)
				err = java_layout_read(&check.java.symbols, check.java.bias, memory,
						       &check.layout);
			if (!err)
				err = java_heaps_read(&check.layout, memory, &check.heaps);
			if (!err)
				err = attach(&check);
			if (err)
				print_message("%s: %s (%d)\n", path, error_text(), err);
			assert_int_equal(err, 0);
		}
		if (!strncmp(line, "version ", 8))
			check_version(&check, line);
		else if (!strncmp(line, "heap ", 5))
			check_heap(&check, line);
		else if (!strncmp(line, "chain ", 6))
			snprintf(check.chain, sizeof(check.chain), "%.255s", line + 5);
		else if (!strncmp(line, "code ", 5))
			check_method(&check, line);
		is_complete = !strcmp(line, "end");
	}
	if (!is_complete)
		print_message("%s: the target has ended\n", path);
	assert_true(is_complete);
	assert_int_equal(check.heap_count, check.heaps.count);
	check_runtime_code(&check);
	check_data(&check);
	assert_true(count_compiled(&check, "JavaTarget.loop") > 0);
	print_message(
		"%s: Java %u, %u heaps, %u methods, %u exact pcs, %u inlined, chain %u, described %u\n",
		path, check.layout.version, check.heaps.count, check.method_count,
		check.exact_count, check.inlined_count, check.chain_count, check.described_count);
	/* 8 has no command that prints the list. */
	if (check.layout.version > 8)
		assert_true(check.method_count >= LEAST_METHODS);
	assert_true(check.exact_count > 0);
	assert_true(check.inlined_count > 0);
	assert_true(check.chain_count > 0);
	assert_int_equal(check.described_count > 0, is_all_described);
	java_language.ops->detach(check.attached);
	live_java_stop(&check.java);
}

static bool check_one(const char *path, const void *context)
{
	const struct setting *setting = context;

	check_java(path, setting->options, setting->is_all_described);
	return true;
}

static void check_all(const char *const *options, bool is_all_described, int one)
{
	const struct setting setting = { options, is_all_described };

	assert_int_equal(check_some_javas(check_one, &setting, one), 0);
}

#define NOT_INLINED "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,JavaTarget.where"

static void versions_heaps_and_methods_are_those_that_each_jvm_tells(void **state)
{
	static const char *const options[] = {
		"-Xmx256m",
		NOT_INLINED,
		"-XX:+IgnoreUnrecognizedVMOptions",
		"-XX:+SegmentedCodeCache",
		"-XX:ReservedCodeCacheSize=40m",
		NULL,
	};

	(void)state;
	check_all(options, false, LIVE_JAVA_ALL);
}

static void other_settings_make_no_difference(void **state)
{
	static const char *const options[] = {
		"-XX:+IgnoreUnrecognizedVMOptions",
		"-XX:+UnlockExperimentalVMOptions",
		"-XX:-SegmentedCodeCache",
		"-XX:ReservedCodeCacheSize=24m",
		"-XX:+UseCompactObjectHeaders",
		"-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1",
		"-Xshare:off",
		NOT_INLINED,
		NULL,
	};

	(void)state;
	check_all(options, false, 0);
}

static void all_code_is_described_if_the_jvm_does_so(void **state)
{
	static const char *const options[] = {
		"-XX:+UnlockDiagnosticVMOptions",
		"-XX:+DebugNonSafepoints",
		"-XX:ReservedCodeCacheSize=40m",
		NOT_INLINED,
		NULL,
	};

	(void)state;
	check_all(options, true, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_heaps_and_methods_are_those_that_each_jvm_tells),
		cmocka_unit_test(other_settings_make_no_difference),
		cmocka_unit_test(all_code_is_described_if_the_jvm_does_so),
	};

	return cmocka_run_group_tests(tests, NULL, live_java_remove_classes);
}
