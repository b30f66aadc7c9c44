/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JVMs that run JavaLoad are stopped at random, and their main thread is unwound by the kernel side's
 * unwinder. Each unwind that begins in Java's code has to reach the thread's entry, by a chain of calls
 * that the source allows.
 *
 * ALLFRAMES_JAVA_STOPS says how often each JVM is stopped; in the long tier it is in all modes.
 */
#include <dirent.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

#include <cmocka.h>

#include "agent/runtimes/runtime_code.h"
#include "agent/unwind/stopped_process.h"
#include "agent/unwind/user_unwind.h"

#include "ebpf/abi/java.h"
#include "interpreters/java/java_code.h"

#define LIVE_JAVA_SOURCE "agent/unwind/tests/JavaLoad.java"
#define LIVE_JAVA_CLASS "JavaLoad"
#include "interpreters/java/tests/live_java.h"

enum {
	STOPS = 300,
	/* CPU time of the JVM until most of it is compiled, and when that is no longer waited for. */
	WARM_UP_MS = 3000,
	WARM_UP_LIMIT_S = 120,
	NAME_BYTES = 128,
	FRAMES_MAX = 1024,
	KEPT_FAULTS = 6,
	FAULT_BYTES = 1000,
	/* Minimum of complete stacks in a thousand that begin in Java's code. */
	LEAST_COMPLETE = 994,
};

/* A method, by the beginning of its name, and what may call it. */
struct rule {
	const char *method;
	const char *callers[10];
};

/* Any of these may be inlined into the next one of its callers, and so be left out. */
static const struct rule rules[] = {
	{ "JavaLoad.main", { NULL } },
	{ "JavaLoad.fib", { "JavaLoad.fib", "JavaLoad.main" } },
	{ "JavaLoad.shapes", { "JavaLoad.main" } },
	{ "JavaLoad$",
	  { "JavaLoad.shapes", "JavaLoad.streams", "JavaLoad.sorts", "JavaLoad.main", "java.",
	    "jdk.", "sun.", "JavaLoad$" } },
	{ "JavaLoad.thrower", { "JavaLoad.thrower", "JavaLoad.exceptions", "JavaLoad.main" } },
	{ "JavaLoad.lambda",
	  { "java.", "jdk.", "JavaLoad$", "JavaLoad.streams", "JavaLoad.sorts", "JavaLoad.main" } },
	{ "JavaLoad.target", { "java.", "jdk.", "sun.", "JavaLoad.main" } },
	{ "JavaLoad.", { "JavaLoad.main" } },
	{ "java.lang.IllegalStateException.<init>",
	  { "JavaLoad.thrower", "JavaLoad.exceptions", "JavaLoad.main" } },
	{ "java.lang.RuntimeException.<init>",
	  { "java.lang.IllegalStateException.", "JavaLoad.", "java.lang.IllegalArg" } },
	{ "java.lang.StringLatin1.replace",
	  { "java.lang.String.replace", "JavaLoad.strings", "JavaLoad.main" } },
	{ "java.util.TreeMap.",
	  { "java.util.TreeMap", "JavaLoad.maps", "JavaLoad.main", "java.util.AbstractMap",
	    "java.util.Map.", "java.util.Tree" } },
	{ "java.util.Random.next", { "java.util.Random.next", "JavaLoad.sorts", "JavaLoad.main" } },
	{ "sun.security.provider.SHA2",
	  { "sun.security.provider.", "java.security.", "JavaLoad.sha", "sun.security.jca",
	    "jdk.internal", "java.lang", "sun.reflect.", "JavaLoad.main" } },
};

struct run {
	struct live_java java;
	struct stopped_process process;
	struct runtime *attached;
	struct java_layout layout;
	struct java_heaps heaps;
	struct user_unwind *unwind;
	pid_t main_thread;
	/* Stops, those in Java's code, and of these those that reached the entry by an allowed chain. */
	uint32_t stops;
	uint32_t java_count;
	uint32_t complete;
	uint32_t forbidden;
	uint32_t guesses;
	char faults[KEPT_FAULTS][FAULT_BYTES];
	uint32_t fault_count;
};

/* The Java methods of a stack, leaf first; other frames have an empty name. */
struct chain {
	char names[FRAMES_MAX][NAME_BYTES];
	uint32_t count;
	bool is_java_leaf;
	bool has_guess;
	bool has_nameless_stub;
};

static struct emulated_trace trace;
static struct chain chain;

static const struct rule *rule_of(const char *method)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strncmp(rules[i].method, method, strlen(rules[i].method)))
			return &rules[i];
	return NULL;
}

static bool may_call(const char *caller, const char *method)
{
	const struct rule *rule = rule_of(method);

	if (!rule)
		return true;
	for (int i = 0; rule->callers[i]; i++)
		if (!strncmp(rule->callers[i], caller, strlen(rule->callers[i])))
			return true;
	return false;
}

/* Stubs have names, and stand in no chain of methods. */
static void read_stub(struct run *run, const uint64_t *words)
{
	static struct interpreted_frames frames;
	uint32_t object = 0;

	if (java_language.ops->symbolize(run->attached, &run->java.memory.memory, words, &object,
					 &frames) ||
	    frames.count != 1 || strncmp(frames.items[0].function, "[stub: ", 7) != 0)
		chain.has_nameless_stub = true;
}

static void read_chain(struct run *run)
{
	chain.count = 0;
	chain.has_guess = false;
	chain.has_nameless_stub = false;
	chain.is_java_leaf = frame_kind(trace.words[0]) == FRAME_JAVA;
	for (uint32_t i = 0; i < trace.word_count; i += frame_word_count(trace.words[i])) {
		struct interpreted_frames frames;
		uint32_t object = 0;
		char *name;

		if (frame_kind(trace.words[i]) == FRAME_JAVA &&
		    frame_flags(trace.words[i]) & FRAME_GUESS)
			chain.has_guess = true;
		if (frame_kind(trace.words[i]) != FRAME_JAVA || chain.count == FRAMES_MAX)
			continue;
		if (trace.words[i + 1] >> 32 == JAVA_STUB) {
			read_stub(run, &trace.words[i]);
			continue;
		}
		name = chain.names[chain.count++];
		if (java_language.ops->symbolize(run->attached, &run->java.memory.memory,
						 &trace.words[i], &object, &frames))
			snprintf(name, NAME_BYTES, "?");
		else
			snprintf(name, NAME_BYTES, "%s", frames.items[frames.count - 1].function);
	}
}

/* The fault of the chain, or NULL. */
static const char *chain_fault(void)
{
	if (chain.has_nameless_stub)
		return "a stub without a name";
	if (!chain.count || strcmp(chain.names[chain.count - 1], "JavaLoad.main") != 0)
		return "does not begin in main";
	for (uint32_t i = 0; i + 1 < chain.count; i++) {
		if (!strcmp(chain.names[i], "?"))
			return "a method without a name";
		if (!may_call(chain.names[i + 1], chain.names[i]))
			return "a call that the source does not allow";
	}
	return NULL;
}

static void keep_fault(struct run *run, const char *why)
{
	char *text;
	size_t length;
	uint64_t code[2] = { 0 };
	char blob_name[JAVA_BLOB_NAME_BYTES] = "";
	struct java_blob blob;

	if (run->fault_count++ >= KEPT_FAULTS)
		return;
	text = run->faults[run->fault_count - 1];
	remote_memory_read(&run->java.memory.memory, trace.pcs[0], code, sizeof(code));
	if (!java_blob_find(&run->layout, &run->heaps, &run->java.memory.memory, trace.pcs[0],
			    &blob))
		java_blob_name(&run->layout, &run->java.memory.memory, &blob, blob_name);
	snprintf(text, FAULT_BYTES, "%s, error %d, leaf in %s + %lx, code %016lx %016lx:", why,
		 trace.error, blob_name, *blob_name ? (long)(trace.pcs[0] - blob.code_start) : 0,
		 __builtin_bswap64(code[0]), __builtin_bswap64(code[1]));
	for (uint32_t i = 0; i < chain.count && i < 12; i++) {
		length = strlen(text);
		snprintf(text + length, FAULT_BYTES - length, " < %s", chain.names[i]);
	}
	for (uint32_t i = 0; i < trace.word_count && i < 16;
	     i += frame_word_count(trace.words[i])) {
		length = strlen(text);
		snprintf(text + length, FAULT_BYTES - length, " %d:%lx", frame_kind(trace.words[i]),
			 (long)trace.pcs[i]);
	}
}

static void judge(struct run *run)
{
	const char *why;

	run->stops++;
	read_chain(run);
	if (!chain.is_java_leaf && !chain.count)
		return;
	run->java_count++;
	why = trace.error ? "not whole" : chain_fault();
	run->guesses += chain.has_guess;
	if (!why)
		run->complete++;
	else if (!trace.error)
		run->forbidden++;
	if (why)
		keep_fault(run, why);
}

static void unwind_once(struct run *run)
{
	uint8_t bytes[REGISTER_SET_MAX_BYTES];
	struct iovec vector = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct user_runtime runtime = { EXECUTABLE_ID_FIRST, run->attached };
	struct user_tables tables = address_space_tables(&run->process.space);
	struct emulated_start start = { 0 };
	struct register_set set;
	int status;

	assert_int_equal(ptrace(PTRACE_INTERRUPT, run->main_thread, NULL, NULL), 0);
	assert_int_equal(waitpid(run->main_thread, &status, __WALL), run->main_thread);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_GETREGSET, run->main_thread, (void *)NT_PRSTATUS, &vector),
			 0);
	assert_int_equal(register_set_read(&set, emulated_machine(), bytes, vector.iov_len), 0);
	memcpy(start.registers, set.registers, sizeof(start.registers));
	start.frame_flags = set.is_system_call ? FRAME_RETURN_ADDRESS : 0;
	start.thread_pointer = set.thread_pointer;
	tables.runtimes = &runtime;
	tables.runtime_count = 1;
	assert_int_equal(user_unwind_run(run->unwind, &tables, stopped_process_read, &run->process,
					 &start, &trace),
			 0);
	judge(run);
	/* A signal that came first is the JVM's own: a poll, or a null pointer. */
	ptrace(PTRACE_CONT, run->main_thread, NULL,
	       (void *)(uintptr_t)(status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status)));
}

static unsigned long cpu_of(pid_t pid, pid_t tid)
{
	unsigned long user = 0;
	char path[64], text[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fread(text, 1, sizeof(text) - 1, file) && strrchr(text, ')'))
		sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu",
		       &user);
	fclose(file);
	return strstr(text, "(java)") || strstr(text, "(main)") ? user : 0;
}

/* Several threads have this name; main's is the one that runs. */
static void find_main_thread(struct run *run)
{
	unsigned long most = 0;

	for (size_t i = 0; i < run->process.threads.count; i++) {
		pid_t tid = run->process.threads.items[i].tid;
		unsigned long user = cpu_of(run->java.pid, tid);

		if (user > most)
			run->main_thread = tid;
		most = user > most ? user : most;
	}
}

static void warm_up(pid_t pid)
{
	uint64_t end_ns = clock_monotonic_ns() + WARM_UP_LIMIT_S * NS_PER_SECOND;
	struct timespec used = { 0 };
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	while ((uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / NS_PER_MS < WARM_UP_MS &&
	       clock_monotonic_ns() < end_ns) {
		usleep(10000);
		assert_int_equal(clock_gettime(clock, &used), 0);
	}
}

static void begin(struct run *run, const char *path, const char *const *options)
{
	struct attach_target target = { .memory = &run->java.memory.memory,
					.analyse = runtime_code_analyse,
					.find_jump = runtime_code_find_jump };
	char line[64];
	int err;

	assert_int_equal(live_java_start(&run->java, path, options), 0);
	assert_non_null(fgets(line, sizeof(line), run->java.output));
	warm_up(run->java.pid);
	assert_int_equal(live_java_find(&run->java), 0);
	target.bias = run->java.bias;
	err = java_language.ops->attach(run->java.file, &target, &run->attached);
	if (err)
		print_message("%s: %s\n", path, error_text());
	assert_int_equal(err, 0);
	assert_int_equal(java_layout_read(&run->java.symbols, run->java.bias,
					  &run->java.memory.memory, &run->layout),
			 0);
	assert_int_equal(java_heaps_read(&run->layout, &run->java.memory.memory, &run->heaps), 0);
	err = stopped_process_init(&run->process, run->java.pid, 0);
	if (err == -EPERM || err == -EACCES)
		skip();
	assert_int_equal(err, 0);
	find_main_thread(run);
	for (size_t i = 0; i < run->process.threads.count; i++) {
		pid_t tid = run->process.threads.items[i].tid;

		if (tid == run->main_thread)
			assert_int_equal(ptrace(PTRACE_CONT, tid, NULL, NULL), 0);
		else
			ptrace(PTRACE_DETACH, tid, NULL, NULL);
	}
	run->process.threads.count = 0;
	assert_true(run->main_thread > 0);
	assert_int_equal(user_unwind_create(&run->unwind), 0);
}

static void end(struct run *run)
{
	/* One that is traced would have to be waited for. */
	ptrace(PTRACE_INTERRUPT, run->main_thread, NULL, NULL);
	waitpid(run->main_thread, NULL, __WALL);
	ptrace(PTRACE_DETACH, run->main_thread, NULL, NULL);
	user_unwind_destroy(run->unwind);
	java_language.ops->detach(run->attached);
	stopped_process_deinit(&run->process);
	live_java_stop(&run->java);
}

/* True if enough of the unwinds are whole. */
static bool unwind_java(const char *path, const void *context)
{
	const char *const *options = context;
	static struct run run;
	const char *stops = getenv("ALLFRAMES_JAVA_STOPS");
	uint32_t count = stops ? (uint32_t)atoi(stops) : STOPS;

	memset(&run, 0, sizeof(run));
	begin(&run, path, options);
	for (uint32_t i = 0; i < count; i++) {
		usleep(300 + (uint32_t)random() % 1700);
		unwind_once(&run);
	}
	print_message("%s %s: %u stops, %u with Java, whole %.2f %%, not allowed %u, guessed %u\n",
		      path, options[0] ? options[0] : "", run.stops, run.java_count,
		      100.0 * run.complete / (run.java_count ? run.java_count : 1), run.forbidden,
		      run.guesses);
	for (uint32_t i = 0; i < run.fault_count && i < KEPT_FAULTS; i++)
		print_message("    %s\n", run.faults[i]);
	end(&run);
	return run.java_count >= count / 2 &&
	       run.complete * 1000ULL >= run.java_count * (uint64_t)LEAST_COMPLETE;
}

static void unwind_all(const char *const *options)
{
	assert_int_equal(check_javas(unwind_java, options), 0);
}

static void unwinds_reach_main_by_calls_that_the_source_allows(void **state)
{
	static const char *const options[] = { NULL };

	(void)state;
	unwind_all(options);
}

static void in_all_modes(void **state)
{
	static const char *const modes[] = { "-Xint",
					     "-XX:TieredStopAtLevel=1",
					     "-Xcomp",
					     "-XX:-TieredCompilation",
					     "-XX:+UseParallelGC",
					     "-XX:+PreserveFramePointer" };

	(void)state;
	if (!getenv("ALLFRAMES_LONG"))
		skip();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		const char *const options[] = { modes[i], NULL };

		unwind_all(options);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unwinds_reach_main_by_calls_that_the_source_allows),
		cmocka_unit_test(in_all_modes),
	};

	return cmocka_run_group_tests(tests, NULL, live_java_remove_classes);
}
