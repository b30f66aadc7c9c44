/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `forged_python MODE [SEED]`: claims to be CPython 3.13, and is not. Its exported symbols, and the
 * memory that they refer to, are forged:
 *
 *	right	correct frames and code objects: the agent must accept it as CPython
 *	ring	a frame that is its own caller
 *	long	all frames, each with a different function, with names that have no end and line tables
 *		of the maximal size
 *	shaken	like right, while another thread changes any of it, and unmaps and maps memory
 *	offsets	offsets without meaning; another try every 50 ms, by exec
 */
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "target.h"

enum {
	OBJECTS = 4096,
	RIGHT_FRAMES = 8,
	STRING_BYTES = 96,
	TABLE_BYTES = 1 << 20,
	PAGE_BYTES = 4096,
	OWNER_LOOP = 4,
	ROUNDS = 1000000,
	STATE_ASCII = 1 << 2 | 1 << 5 | 1 << 6,
	STATE_WIDE = 4 << 2 | 1 << 5,
	WORDS = 128,
};

/* The structs of CPython, as described by its table of offsets. */
struct frame {
	void *code;
	struct frame *previous;
	uint64_t unused[5];
	const void *instruction;
	uint8_t padding[6];
	uint8_t owner;
};

struct string {
	uint64_t head[2];
	uint64_t length;
	uint64_t hash;
	uint32_t state;
	uint32_t padding;
	char text[STRING_BYTES - 40];
};

struct bytes {
	uint64_t head[2];
	uint64_t size;
	uint64_t hash;
	uint8_t data[];
};

struct code {
	uint64_t head[8];
	uint32_t unused;
	int32_t first_line;
	uint64_t version[5];
	struct string *filename;
	struct string *name;
	struct string *qualified_name;
	struct bytes *line_table;
	uint64_t more[7];
	uint8_t instructions[40];
};

_Static_assert(offsetof(struct frame, owner) == 70, "as in the table of offsets");
_Static_assert(offsetof(struct code, first_line) == 68, "as in the table of offsets");
_Static_assert(offsetof(struct code, filename) == 112, "as in the table of offsets");
_Static_assert(offsetof(struct code, instructions) == 200, "as in the table of offsets");

struct thread_state {
	uint64_t unused[9];
	struct frame *current_frame;
	uint64_t more[16];
};

/* All memory that is shaken. */
struct world {
	struct thread_state thread;
	struct frame frames[OBJECTS];
	struct code codes[OBJECTS];
	struct string names[OBJECTS];
	struct bytes line_table;
	uint8_t line_table_data[TABLE_BYTES];
};

const uint32_t Py_Version = 0x030d00f0;
uint64_t _PyRuntime[WORDS];

static __thread struct thread_state *current;
static struct world *world;

struct thread_state *PyGILState_GetThisThreadState(void);
unsigned long _PyEval_EvalFrameDefault(struct frame *last, unsigned long rounds);

FRAME struct thread_state *PyGILState_GetThisThreadState(void)
{
	return current;
}

/* Runs frames up to @last like the eval loop: its own frame is on its stack, after them. */
FRAME unsigned long _PyEval_EvalFrameDefault(struct frame *last, unsigned long rounds)
{
	struct frame own = { .owner = OWNER_LOOP };

	if (last)
		last->previous = &own;
	rounds = work(rounds);
	__asm__ volatile("" : : "r"(&own) : "memory");
	return rounds;
}

static uint64_t random_number(void)
{
	static __thread uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void make_runtime(void)
{
	static const uint16_t offsets[WORDS] = {
		[23] = 72,  [29] = 8,	[30] = 0,   [31] = 56, [33] = 70,  [35] = 112,
		[36] = 120, [37] = 128, [38] = 136, [39] = 68, [43] = 200, [65] = 16,
		[66] = 32,  [68] = 32,	[69] = 16,  [70] = 40,
	};

	for (int i = 2; i < WORDS; i++)
		_PyRuntime[i] = offsets[i];
	_PyRuntime[1] = 0x030d00f0;
	memcpy(_PyRuntime, "xdebugpy", 8);
}

static void make_objects(int is_long)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct code *code = &world->codes[i];
		struct string *name = &world->names[i];

		snprintf(name->text, sizeof(name->text), "forged_%d", i);
		name->length = is_long ? 1ULL << 60 : strlen(name->text);
		name->state = is_long ? STATE_WIDE : STATE_ASCII;
		/* The reference count. */
		code->head[0] = 1;
		code->first_line = i + 1;
		code->version[2] = i + 1;
		code->filename = &world->names[(i + 1) % OBJECTS];
		code->name = name;
		code->qualified_name = name;
		code->line_table = &world->line_table;
		world->frames[i].code = code;
		world->frames[i].previous = i + 1 < OBJECTS ? &world->frames[i + 1] : NULL;
		world->frames[i].instruction =
			code->instructions +
			(is_long ? 2 * TABLE_BYTES - 4096 - 2 * i : 2 * (i % 16));
	}
	world->line_table.size = is_long ? TABLE_BYTES - sizeof(struct bytes) : 64;
	/* One entry for each byte, all of the same line. */
	memset(world->line_table_data, 0x80, TABLE_BYTES);
}

static uint64_t odd_word(void)
{
	uint64_t number = random_number();

	switch (number >> 8 & 7) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return 0xffff888000000000 | number >> 20;
	case 3:
		return 1ULL << (number >> 16 & 63);
	case 4:
		return (uintptr_t)world + (number >> 16) % sizeof(*world);
	case 5:
		return number >> 16 & 0xff;
	default:
		return number;
	}
}

/* Changes a word of what is in use, or takes a page of it away for a moment. */
static void *shake(void *unused)
{
	char *const parts[] = { (char *)&world->thread, (char *)world->frames, (char *)world->codes,
				(char *)world->names };
	const size_t sizes[] = { sizeof(world->thread), RIGHT_FRAMES * sizeof(struct frame),
				 RIGHT_FRAMES * sizeof(struct code),
				 RIGHT_FRAMES * sizeof(struct string) };

	/* The other thread sets up what it does not look at any more then. */
	usleep(100000);
	for (;;) {
		uint64_t number = random_number();
		uint64_t *word = (uint64_t *)(parts[number & 3] +
					      (number >> 8) % (sizes[number & 3] / 8) * 8);
		uint64_t saved = *word;

		*word = odd_word();
		usleep(number >> 16 & 255);
		*word = saved;
		if (!(number >> 24 & 15)) {
			char *page = (char *)((uintptr_t)word & -(uintptr_t)PAGE_BYTES);
			char copy[PAGE_BYTES];

			memcpy(copy, page, PAGE_BYTES);
			mprotect(page, PAGE_BYTES, PROT_NONE);
			usleep(number >> 32 & 255);
			mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
			if (number & 1 << 30)
				madvise(page, PAGE_BYTES, MADV_DONTNEED);
			memcpy(page, copy, PAGE_BYTES);
		}
	}
	return unused;
}

static void run_offsets(char **argv, unsigned long seed)
{
	char next[32];
	struct timespec start, now;

	for (unsigned long i = 0; i < seed % 64; i++)
		random_number();
	for (int i = 0; i < 24; i++)
		_PyRuntime[2 + random_number() % (WORDS - 2)] =
			random_number() & 1 ? random_number() % 300 : odd_word();
	snprintf(next, sizeof(next), "%lu", seed + 1);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		_PyEval_EvalFrameDefault(NULL, ROUNDS);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec <
		 50000000);
	execl("/proc/self/exe", argv[0], "offsets", next, NULL);
	abort();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "right";
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct frame *last = NULL;
	pthread_t thread;

	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (world == MAP_FAILED)
		abort();
	prctl(PR_SET_NAME, mode);
	make_objects(!strcmp(mode, "long"));
	make_runtime();
	current = &world->thread;
	current->current_frame = &world->frames[0];
	if (!strcmp(mode, "ring"))
		world->frames[0].previous = &world->frames[0];
	if (!seed)
		target_ready();
	if (!strcmp(mode, "offsets"))
		run_offsets(argv, seed);
	if (!strcmp(mode, "shaken") && pthread_create(&thread, NULL, shake, NULL))
		abort();
	if (!strcmp(mode, "shaken") || !strcmp(mode, "right"))
		last = &world->frames[RIGHT_FRAMES - 1];
	_PyEval_EvalFrameDefault(last, ULONG_MAX);
	return 1;
}
