/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the version, and refuses unknown ones; java_live_test.c tests the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "interpreters/java/java_layout.h"
#include "interpreters/java/tests/live_java.h"
#include "interpreters/java/tests/made_vm.h"

enum { VERSION_AT = 0x800 };

static struct made_vm vm;

static int read_version(uint32_t major, const char *heap_field, const char **text)
{
	struct java_layout layout = { .version = 1234 };
	int err;

	made_vm_init(&vm);
	made_vm_put(&vm, VERSION_AT, major, 4);
	made_vm_add_field(&vm, "Abstract_VM_Version", "_vm_major_version", "int", true,
			  MADE_VM_BASE + VERSION_AT);
	made_vm_add_field(&vm, "CodeCache", heap_field, "CodeHeap*", true, 0x1000);
	made_vm_add_type(&vm, "nmethod", 300);
	made_vm_add_constant(&vm, "one", 1);
	err = java_layout_read(&vm.symbols, MADE_VM_BIAS, &vm.memory, &layout);
	*text = error_text();
	/* Outputs are untouched on error. */
	assert_int_equal(layout.version, 1234);
	return err;
}

static void java_8_is_told_from_25_by_its_one_heap(void **state)
{
	const char *text;

	(void)state;
	/* The error names the first entry that the made tables lack. */
	assert_int_equal(read_version(25, "_heap", &text), -EOPNOTSUPP);
	assert_non_null(strstr(text, "Java 8 does not tell StubRoutines::"));
	assert_int_equal(read_version(25, "_heaps", &text), -EOPNOTSUPP);
	assert_non_null(strstr(text, "Java 25 does not tell StubRoutines::"));
}

static void versions_that_are_not_known_are_refused(void **state)
{
	static const uint32_t versions[] = { 7, 28, 256 + 17, UINT32_MAX };
	const char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		assert_int_equal(read_version(versions[i], "_heaps", &text), -EOPNOTSUPP);
		assert_non_null(strstr(text, "is not known"));
	}
}

static void a_version_that_is_not_there_yet_is_waited_for(void **state)
{
	const char *text;

	(void)state;
	assert_int_equal(read_version(0, "_heap", &text), -EAGAIN);
}

static void put_statics(uint32_t version)
{
	made_vm_init(&vm);
	made_vm_put(&vm, VERSION_AT, version, 4);
	made_vm_add_field(&vm, "Abstract_VM_Version", "_vm_major_version", "int", true,
			  MADE_VM_BASE + VERSION_AT);
	made_vm_add_field(&vm, "CodeCache", "_heaps", "CodeHeap*", true, 0x1000);
	made_vm_add_field(&vm, "StubRoutines", "_call_stub_return_address", "address", true, 8);
	made_vm_add_field(&vm, "AbstractInterpreter", "_code", "StubQueue*", true, 16);
	made_vm_add_field(&vm, "Abstract_VM_Version", "_s_vm_release", "const char*", true, 24);
	made_vm_add_field(&vm, "Abstract_VM_Version", "_s_internal_vm_info_string", "const char*",
			  true, 32);
	made_vm_add_field(&vm, "PerfMemory", "_start", "char*", true, 40);
	made_vm_add_type(&vm, "nmethod", 300);
	made_vm_add_constant(&vm, "one", 1);
}

static void an_offset_out_of_all_objects_is_refused(void **state)
{
	struct java_layout layout;

	(void)state;
	put_statics(17);
	made_vm_add_field(&vm, "GrowableArrayBase", "_len", "int", false, JAVA_MAX_OFFSET + 1);
	assert_int_equal(java_layout_read(&vm.symbols, MADE_VM_BIAS, &vm.memory, &layout),
			 -EBADMSG);
	assert_non_null(strstr(error_text(), "GrowableArrayBase::_len at 4097"));
}

/* The error text of java_layout_read() if @type has the field for the length of an array. */
static const char *missed(uint32_t version, const char *type)
{
	struct java_layout layout;

	put_statics(version);
	if (type)
		made_vm_add_field(&vm, type, "_len", "int", false, 8);
	assert_int_equal(java_layout_read(&vm.symbols, MADE_VM_BIAS, &vm.memory, &layout),
			 -EOPNOTSUPP);
	return error_text();
}

static void between_two_known_versions_a_field_is_in_the_type_of_either(void **state)
{
	static const char *const next = "does not tell GrowableArray<int>::_data";

	(void)state;
	assert_non_null(strstr(missed(14, "GenericGrowableArray"), next));
	assert_non_null(strstr(missed(14, "GrowableArrayBase"), next));
	assert_non_null(strstr(missed(14, NULL), "Java 14 does not tell GenericGrowableArray::"));
	/* Versions whose source is known accept only their own type. */
	assert_non_null(strstr(missed(11, "GrowableArrayBase"), "tell GenericGrowableArray::_len"));
	assert_non_null(strstr(missed(17, "GenericGrowableArray"), "tell GrowableArrayBase::_len"));
}

static void versions_between_those_that_are_tested_go_by_their_tables(void **state)
{
	static const char *const next = "does not tell GrowableArray<int>::_data";

	(void)state;
	for (uint32_t version = 9; version <= 27; version++)
		assert_non_null(strstr(missed(version, version <= 16 ? "GenericGrowableArray" :
								       "GrowableArrayBase"),
				       next));
}

/* The memory of a JVM with another version number. */
struct forged_memory {
	struct remote_memory memory;
	struct remote_memory *source;
	uint64_t version_at;
	uint32_t version;
};

static int read_forged(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct forged_memory *forged = (struct forged_memory *)memory;
	int err = remote_memory_read(forged->source, address, buffer, bytes);

	if (!err && address == forged->version_at && bytes == sizeof(forged->version))
		memcpy(buffer, &forged->version, bytes);
	return err;
}

/* Versions with the same fields as @version, according to the sources; ends with 0. */
static const uint8_t *versions_like(uint32_t version)
{
	static const struct {
		uint8_t version;
		uint8_t others[6];
	} alike[] = {
		{ 11, { 9, 10, 12, 13 } }, { 17, { 16, 18, 19 } }, { 21, { 20, 22 } },
		{ 25, { 26, 27 } },	   { 26, { 25, 27 } },	   { 27, { 25, 26 } },
	};
	static const uint8_t none[1];

	for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++)
		if (alike[i].version == version)
			return alike[i].others;
	return none;
}

static bool check_neighbours(const char *path, const void *context)
{
	static const struct remote_memory_ops ops = { .read = read_forged };
	static const struct vm_question question = { VM_FIELD, "Abstract_VM_Version",
						     "_vm_major_version" };
	static const char *const options[] = { "-Xmx64m", NULL };
	struct forged_memory forged = { .memory = { .ops = &ops } };
	struct java_layout layout, other;
	struct vm_answer answer;
	struct live_java java;
	char line[256];

	(void)context;
	assert_int_equal(live_java_start(&java, path, options), 0);
	assert_non_null(fgets(line, sizeof(line), java.output));
	assert_int_equal(live_java_find(&java), 0);
	forged.source = &java.memory.memory;
	assert_int_equal(
		vm_structs_read(&java.symbols, java.bias, forged.source, &question, 1, &answer), 0);
	forged.version_at = answer.value;
	assert_int_equal(java_layout_read(&java.symbols, java.bias, forged.source, &layout), 0);
	for (const uint8_t *at = versions_like(layout.version); *at; at++) {
		forged.version = *at;
		if (java_layout_read(&java.symbols, java.bias, &forged.memory, &other)) {
			print_message("%s as Java %u: %s\n", path, *at, error_text());
			fail();
		}
		assert_int_equal(other.version, *at);
		other.version = layout.version;
		/* This size is in no table of 21. */
		if (layout.version == 21) {
			assert_int_not_equal(layout.continuation_entry_bytes, 0);
			assert_int_equal(other.continuation_entry_bytes, 0);
			other.continuation_entry_bytes = layout.continuation_entry_bytes;
		}
		assert_memory_equal(&other, &layout, sizeof(layout));
	}
	live_java_stop(&java);
	return true;
}

static void neighbours_of_versions_at_hand_are_read_from_the_same_tables(void **state)
{
	(void)state;
	assert_int_equal(check_javas(check_neighbours, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(java_8_is_told_from_25_by_its_one_heap),
		cmocka_unit_test(versions_that_are_not_known_are_refused),
		cmocka_unit_test(a_version_that_is_not_there_yet_is_waited_for),
		cmocka_unit_test(an_offset_out_of_all_objects_is_refused),
		cmocka_unit_test(between_two_known_versions_a_field_is_in_the_type_of_either),
		cmocka_unit_test(versions_between_those_that_are_tested_go_by_their_tables),
		cmocka_unit_test(neighbours_of_versions_at_hand_are_read_from_the_same_tables),
	};

	return cmocka_run_group_tests(tests, NULL, live_java_remove_classes);
}
