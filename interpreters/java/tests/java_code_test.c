/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/java/tests/made_code.h"

static struct made_vm vm;

static const uint64_t blob_address = MADE_VM_BASE + MADE_BLOB_AT;

/* Looks up the address at @offset from the blob's beginning. */
static int find(uint64_t offset, struct java_blob *blob)
{
	const struct java_layout layout = made_code_layout();
	struct java_heaps heaps;

	assert_int_equal(java_heaps_read(&layout, &vm.memory, &heaps), 0);
	assert_int_equal(heaps.count, 1);
	return java_blob_find(&layout, &heaps, &vm.memory, blob_address + offset, blob);
}

static int read_heaps(void)
{
	const struct java_layout layout = made_code_layout();
	struct java_heaps heaps;

	return java_heaps_read(&layout, &vm.memory, &heaps);
}

static void every_instruction_leads_to_its_code(void **state)
{
	const struct java_layout layout = made_code_layout();
	char name[JAVA_BLOB_NAME_BYTES];
	struct java_nmethod nmethod;
	struct java_blob blob;

	(void)state;
	made_code_init(&vm);
	for (uint64_t offset = MADE_BLOB_CODE; offset < MADE_BLOB_DATA; offset++) {
		assert_int_equal(find(offset, &blob), 0);
		assert_int_equal(blob.address, blob_address);
	}
	assert_int_equal(blob.code_start, blob_address + MADE_BLOB_CODE);
	assert_int_equal(blob.code_end, blob_address + MADE_BLOB_DATA);
	assert_int_equal(blob.frame_bytes, 48);
	assert_int_equal(blob.frame_complete, 15);
	assert_true(blob.is_nmethod);
	assert_int_equal(java_blob_name(&layout, &vm.memory, &blob, name), 0);
	assert_string_equal(name, "nmethod");
	assert_int_equal(java_nmethod_read(&layout, &vm.memory, &blob, &nmethod), 0);
	assert_int_equal(nmethod.method, MADE_VM_BASE + 0x5555);
	assert_int_equal(nmethod.compile_id, 77);
	assert_int_equal(nmethod.comp_level, 4);
	assert_int_equal(nmethod.state, -1);
	assert_int_equal(nmethod.entry_bci, -1);
}

static void what_is_no_instruction_leads_nowhere(void **state)
{
	struct java_blob blob;

	(void)state;
	made_code_init(&vm);
	assert_int_equal(find(0, &blob), -ENOENT);
	assert_int_equal(find(MADE_BLOB_CODE - 1, &blob), -ENOENT);
	assert_int_equal(find(MADE_BLOB_DATA, &blob), -ENOENT);
	/* A segment without code, and addresses outside of the heap. */
	assert_int_equal(find(0x2000, &blob), -ENOENT);
	assert_int_equal(find(MADE_CODE_BYTES, &blob), -ENOENT);
	assert_int_equal(find(MADE_CODE_AT - MADE_BLOB_AT - 1, &blob), -ENOENT);
	/* A block that was freed. */
	made_vm_put(&vm, MADE_BLOB_AT - MADE_BLOCK_BYTES + 8, 0, 1);
	assert_int_equal(find(MADE_BLOB_CODE, &blob), -ENOENT);
}

static void other_headers_are_of_the_runtimes_code(void **state)
{
	struct java_blob blob;

	(void)state;
	made_code_init(&vm);
	made_vm_put(&vm, MADE_BLOB_AT + 12, MADE_BLOB_HEADER_BYTES - 8, 2);
	made_vm_put(&vm, MADE_BLOB_AT + 16, (uint32_t)-1, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 20, (uint16_t)-2, 2);
	assert_int_equal(find(MADE_BLOB_CODE, &blob), 0);
	assert_false(blob.is_nmethod);
	assert_int_equal(blob.frame_bytes, 0);
	assert_int_equal(blob.frame_complete, -2);
}

/* The entries of the map lead back by many different counts. */
static void ways_back_in_the_map_are_followed_to_their_start(void **state)
{
	struct java_blob blob;
	uint32_t segment = MADE_BLOCK_SEGMENT;

	(void)state;
	made_code_init(&vm);
	made_vm_put(&vm, MADE_BLOB_AT + 8, 0x7000, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 24, 0x6c00, 4);
	for (uint32_t step = 1; segment + step < 420; step = step * 2 % 97 + 1) {
		segment += step;
		made_code_set_segment(&vm, segment, (uint8_t)step);
	}
	/* The segment is more than two windows after the first one. */
	assert_true(segment > 256 + MADE_BLOCK_SEGMENT);
	assert_int_equal(
		find((segment << MADE_LOG2_SEGMENT_SIZE) + MADE_CODE_AT - MADE_BLOB_AT, &blob), 0);
	assert_int_equal(blob.address, blob_address);
}

static void forged_maps_end(void **state)
{
	struct java_blob blob;

	(void)state;
	/* An entry that leads out of the heap. */
	made_code_init(&vm);
	made_code_set_segment(&vm, MADE_BLOCK_SEGMENT, MADE_BLOCK_SEGMENT + 1);
	assert_int_equal(find(MADE_BLOB_CODE, &blob), -EBADMSG);
	/* Every entry leads back by one segment. */
	made_code_init(&vm);
	memset(vm.bytes + MADE_MAP_AT, 1, MADE_CODE_BYTES >> MADE_LOG2_SEGMENT_SIZE);
	assert_int_equal(find(MADE_CODE_BYTES - (MADE_BLOB_AT - MADE_CODE_AT) - 1, &blob),
			 -EBADMSG);
	/* The map is not there. */
	made_code_init(&vm);
	made_vm_put(&vm, MADE_HEAP_AT + 32, 0x1000, 8);
	assert_int_equal(find(MADE_BLOB_CODE, &blob), -EFAULT);
}

static void forged_code_is_refused(void **state)
{
	struct java_blob blob;

	(void)state;
	made_code_init(&vm);
	made_vm_put(&vm, MADE_BLOB_AT + 24, MADE_BLOB_BYTES + 1, 4);
	assert_int_equal(find(MADE_BLOB_CODE, &blob), -EBADMSG);
	made_code_init(&vm);
	made_vm_put(&vm, MADE_BLOB_AT + 28, MADE_BLOB_DATA + 1, 4);
	assert_int_equal(find(MADE_BLOB_CODE, &blob), -EBADMSG);
	made_code_init(&vm);
	made_vm_put(&vm, MADE_BLOB_AT + 8, (uint32_t)-1, 4);
	assert_int_equal(find(MADE_BLOB_CODE, &blob), -EBADMSG);
}

static void a_jvm_that_has_not_made_its_code_is_waited_for(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		made_code_init(&vm);
		made_vm_put(&vm, MADE_STATICS_AT + 8 * i, 0, 8);
		assert_int_equal(read_heaps(), -EAGAIN);
	}
	made_code_init(&vm);
	made_vm_put(&vm, MADE_ARRAY_AT, 0, 4);
	assert_int_equal(read_heaps(), -EAGAIN);
	made_code_init(&vm);
	made_vm_put(&vm, MADE_HEAP_AT + 32, 0, 8);
	assert_int_equal(read_heaps(), -EAGAIN);
}

static void forged_heaps_are_refused(void **state)
{
	(void)state;
	made_code_init(&vm);
	made_vm_put(&vm, MADE_ARRAY_AT, JAVA_MAX_HEAPS + 1, 4);
	assert_int_equal(read_heaps(), -E2BIG);
	made_code_init(&vm);
	made_vm_put(&vm, MADE_HEAP_AT + 24, MADE_VM_BASE + MADE_CODE_AT, 8);
	assert_int_equal(read_heaps(), -EBADMSG);
	made_code_init(&vm);
	made_vm_put(&vm, MADE_HEAP_AT + 24, UINT64_MAX, 8);
	assert_int_equal(read_heaps(), -EBADMSG);
	made_code_init(&vm);
	made_vm_put(&vm, MADE_HEAP_AT + 64, 63, 4);
	assert_int_equal(read_heaps(), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_leads_to_its_code),
		cmocka_unit_test(what_is_no_instruction_leads_nowhere),
		cmocka_unit_test(other_headers_are_of_the_runtimes_code),
		cmocka_unit_test(ways_back_in_the_map_are_followed_to_their_start),
		cmocka_unit_test(forged_maps_end),
		cmocka_unit_test(forged_code_is_refused),
		cmocka_unit_test(a_jvm_that_has_not_made_its_code_is_waited_for),
		cmocka_unit_test(forged_heaps_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
