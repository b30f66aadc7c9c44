/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of real C libraries: pthread_getspecific() of this process's library, and of the cross
 * compiler's library for arm64, as a file; and small functions of our own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "interpreters/thread_local.h"
#include "lib/elf/elf_dynamic.h"

/** An ELF file as the memory of a process, at its own addresses. */
struct file_memory {
	struct remote_memory memory;
	struct elf_image image;
};

static int read_file(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct file_memory *file = (struct file_memory *)memory;

	if (!elf_image_read_address(&file->image, address, buffer, bytes))
		return 0;
	/* Zeroed memory that follows the file's. */
	for (uint32_t i = 0; i < file->image.segment_count; i++) {
		const struct elf_segment *segment = &file->image.segments[i];

		if (segment->type == PT_LOAD && address >= segment->address + segment->file_bytes &&
		    address + bytes <= segment->address + segment->memory_bytes) {
			memset(buffer, 0, bytes);
			return 0;
		}
	}
	return -EFAULT;
}

static int read_own(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	(void)memory;
	memcpy(buffer, (const void *)(uintptr_t)address, bytes);
	return 0;
}

static uint64_t follow(const struct thread_local_path *path)
{
	uint64_t value = (uintptr_t)__builtin_thread_pointer();

	for (uint32_t i = 0; i < path->depth; i++)
		value = *(const uint64_t *)(uintptr_t)(value + (uint64_t)(int64_t)path->offsets[i]);
	return value;
}

#ifdef __x86_64__
static const uint16_t own_machine = EM_X86_64;
#else
static const uint16_t own_machine = EM_AARCH64;
#endif

static void the_words_of_keys_are_found_in_this_c_library(void **state)
{
	static const struct remote_memory_ops ops = { .read = read_own };
	struct remote_memory memory = { .ops = &ops };
	struct attach_target target = { .memory = &memory };
	pthread_key_t keys[100];

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(pthread_key_create(&keys[i], NULL), 0);
		pthread_setspecific(keys[i], (void *)(uintptr_t)(0x1000 + i));
	}
	for (size_t i = 0; i < 100; i++) {
		struct thread_local_path path;

		assert_int_equal(thread_local_path_of_call(&target, own_machine,
							   (uintptr_t)pthread_getspecific, keys[i],
							   &path),
				 0);
		assert_int_equal(path.depth, keys[i] < 32 ? 1 : 2);
		assert_int_equal(follow(&path), 0x1000 + i);
	}
	for (size_t i = 0; i < 100; i++)
		pthread_key_delete(keys[i]);
}

/* glibc 2.36 of Debian: the block of the first 32 keys begins at tp - 0x630. */
static void the_words_of_keys_are_found_in_a_c_library_of_arm64(void **state)
{
	static const struct remote_memory_ops ops = { .read = read_file };
	struct file_memory file = { .memory = { .ops = &ops } };
	struct attach_target target = { .memory = &file.memory };
	int fd = open("/usr/aarch64-linux-gnu/lib/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct elf_dynamic_symbol symbol;
	struct thread_local_path path;
	struct elf_dynamic dynamic;

	(void)state;
	if (fd < 0) {
		print_message("no C library for arm64\n");
		skip();
	}
	assert_int_equal(elf_image_init_fd(&file.image, fd), 0);
	assert_int_equal(elf_dynamic_init(&dynamic, &file.image), 0);
	assert_int_equal(elf_dynamic_find(&dynamic, &file.image, "pthread_getspecific", &symbol),
			 0);
	assert_int_equal(thread_local_path_of_call(&target, EM_AARCH64, symbol.address, 3, &path),
			 0);
	assert_int_equal(path.depth, 1);
	assert_true(path.offsets[0] < 0 && path.offsets[0] > -0x1000);
	assert_int_equal((path.offsets[0] - 3 * 16) % 8, 0);
	{
		struct thread_local_path first, far;

		assert_int_equal(thread_local_path_of_call(&target, EM_AARCH64, symbol.address, 0,
							   &first),
				 0);
		assert_int_equal(path.offsets[0] - first.offsets[0], 3 * 16);
		assert_int_equal(thread_local_path_of_call(&target, EM_AARCH64, symbol.address, 70,
							   &far),
				 0);
		assert_int_equal(far.depth, 2);
		/* The pointers to the other blocks follow the first block. */
		assert_int_equal(far.offsets[0] - first.offsets[0], 32 * 16 + 2 * 8 - 8);
		assert_int_equal(far.offsets[1], 6 * 16 + 8);
	}
	/* Keys beyond the last. */
	assert_int_equal(thread_local_path_of_call(&target, EM_AARCH64, symbol.address, 5000,
						   &path),
			 -EAGAIN);
	elf_image_deinit(&file.image);
	close(fd);
}

#ifdef __x86_64__
/** Instructions at an address of their choice. */
struct code_memory {
	struct remote_memory memory;
	const uint8_t *code;
	size_t size;
};

static int read_code(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct code_memory *code = (struct code_memory *)memory;
	uint8_t padded[256] = { 0 };

	if (address < 0x1000 || address + bytes > 0x1000 + sizeof(padded))
		return -EFAULT;
	memcpy(padded, code->code, code->size);
	memcpy(buffer, padded + (address - 0x1000), bytes);
	return 0;
}

static int evaluate(const uint8_t *bytes, size_t size, struct thread_local_path *path)
{
	static const struct remote_memory_ops ops = { .read = read_code };
	struct code_memory code = { .memory = { .ops = &ops }, .code = bytes, .size = size };
	struct attach_target target = { .memory = &code.memory };

	return thread_local_path_of_call(&target, EM_X86_64, 0x1000, 1, path);
}

#define EVALUATE(path, ...)                                                                        \
	evaluate((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), path)

static void a_variable_at_a_fixed_offset_is_one_word_of_the_thread(void **state)
{
	struct thread_local_path path;

	(void)state;
	/* endbr64; mov %fs:-0x28,%rax; ret: CPython 3.15. */
	assert_int_equal(EVALUATE(&path, 0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b, 0x04, 0x25, 0xd8,
				  0xff, 0xff, 0xff, 0xc3),
			 0);
	assert_int_equal(path.depth, 1);
	assert_int_equal(path.offsets[0], -0x28);
}

static void the_table_of_musl_is_followed(void **state)
{
	struct thread_local_path path;

	(void)state;
	/* mov %fs:0,%rax; mov 0x80(%rax),%rax; mov %edi,%edi; mov (%rax,%rdi,8),%rax; ret */
	assert_int_equal(EVALUATE(&path, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x8b, 0x80,
				  0x80, 0, 0, 0, 0x89, 0xff, 0x48, 0x8b, 0x04, 0xf8, 0xc3),
			 0);
	assert_int_equal(path.depth, 2);
	assert_int_equal(path.offsets[0], 0x80);
	assert_int_equal(path.offsets[1], 8);
}

static void what_is_no_word_of_the_thread_is_refused(void **state)
{
	struct thread_local_path path;

	(void)state;
	/* xor %eax,%eax; ret */
	assert_int_equal(EVALUATE(&path, 0x31, 0xc0, 0xc3), -EAGAIN);
	/* mov $1,%eax; ret */
	assert_int_equal(EVALUATE(&path, 0xb8, 1, 0, 0, 0, 0xc3), -EOPNOTSUPP);
	/* mov %fs:0,%rax; ret: the thread pointer itself. */
	assert_int_equal(EVALUATE(&path, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0xc3),
			 -EOPNOTSUPP);
	/* jmp to itself */
	assert_int_equal(EVALUATE(&path, 0xeb, 0xfe), -EOPNOTSUPP);
	/* call itself */
	assert_int_equal(EVALUATE(&path, 0xe8, 0xfb, 0xff, 0xff, 0xff), -EOPNOTSUPP);
	/* syscall; jmp *%rax; cpuid and a branch on its result */
	assert_int_equal(EVALUATE(&path, 0x0f, 0x05), -EOPNOTSUPP);
	assert_int_equal(EVALUATE(&path, 0xff, 0xe0), -EOPNOTSUPP);
	assert_int_equal(EVALUATE(&path, 0x0f, 0xa2, 0x85, 0xc0, 0x74, 0x00, 0xc3), -EOPNOTSUPP);
	/* mov 0,%rax through an address that is not there */
	assert_int_equal(EVALUATE(&path, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0xc3), -EFAULT);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_words_of_keys_are_found_in_this_c_library),
		cmocka_unit_test(the_words_of_keys_are_found_in_a_c_library_of_arm64),
#ifdef __x86_64__
		cmocka_unit_test(a_variable_at_a_fixed_offset_is_one_word_of_the_thread),
		cmocka_unit_test(the_table_of_musl_is_followed),
		cmocka_unit_test(what_is_no_word_of_the_thread_is_refused),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
