/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"
#include "lib/host/powercap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"

#define RANGE "262143328850"
#define SECOND NS_PER_SECOND

struct tree {
	char root[64];
	struct powercap_zone_vector zones;
};

static int make_tree(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	snprintf(tree->root, sizeof(tree->root), "/tmp/powercap_XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	*state = tree;
	return 0;
}

static int remove_tree(void **state)
{
	struct tree *tree = *state;
	char command[256];
	int status;

	snprintf(command, sizeof(command), "chmod -R u+rwx %s && rm -rf %s", tree->root,
		 tree->root);
	status = system(command);
	powercap_zone_vector_deinit(&tree->zones);
	free(tree);
	return status;
}

/* Writes a file below the tree's root, with the folders that it needs. */
static void put(const struct tree *tree, const char *folder, const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "mkdir -p %s/%s", tree->root, folder);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/%s/%s", tree->root, folder, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void put_energy(const struct tree *tree, const char *zone, const char *text)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "class/powercap/%s", zone);
	put(tree, folder, "energy_uj", text);
}

static void put_zone(const struct tree *tree, const char *zone, const char *name)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "class/powercap/%s", zone);
	put(tree, folder, "name", name);
	put(tree, folder, "max_energy_range_uj", RANGE "\n");
	put(tree, folder, "energy_uj", "1000000\n");
}

static void expect_zone(const struct tree *tree, size_t index, const char *name,
			enum energy_kind kind, int32_t package)
{
	assert_true(index < tree->zones.count);
	assert_string_equal(tree->zones.items[index].name, name);
	assert_int_equal(tree->zones.items[index].kind, kind);
	assert_int_equal(tree->zones.items[index].package, package);
}

static void zones_are_found_once_with_kind_and_package(void **state)
{
	struct tree *tree = *state;

	put(tree, "class/powercap/intel-rapl", "enabled", "1\n");
	put_zone(tree, "intel-rapl-mmio:0", "package-0\n");
	put_zone(tree, "intel-rapl-mmio:0:0", "dram\n");
	put_zone(tree, "intel-rapl:0", "package-0\n");
	put_zone(tree, "intel-rapl:0:0", "core\n");
	put_zone(tree, "intel-rapl:0:1", "uncore\n");
	put_zone(tree, "intel-rapl:0:2", "dram\n");
	put_zone(tree, "intel-rapl:1", "package-7-die-1\n");
	put_zone(tree, "intel-rapl:1:0", "dram\n");
	put_zone(tree, "intel-rapl:2", "psys\n");
	put_zone(tree, "dtpm:0", "package\n");
	assert_int_equal(powercap_find_zones(tree->root, &tree->zones), 0);
	assert_int_equal(tree->zones.count, 6);
	expect_zone(tree, 0, "package-0", ENERGY_PACKAGE, 0);
	expect_zone(tree, 1, "package-0 core", ENERGY_CORE, 0);
	expect_zone(tree, 2, "package-0 uncore", ENERGY_UNCORE, 0);
	expect_zone(tree, 3, "package-0 dram", ENERGY_DRAM, 0);
	expect_zone(tree, 4, "package-7-die-1", ENERGY_PACKAGE, 7);
	expect_zone(tree, 5, "package-7-die-1 dram", ENERGY_DRAM, 7);
	assert_string_equal(tree->zones.items[0].folder, "intel-rapl:0");
}

static void a_machine_without_zones_is_no_error(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(powercap_find_zones(tree->root, &tree->zones), 0);
	put(tree, "class/powercap/intel-rapl", "enabled", "1\n");
	assert_int_equal(powercap_find_zones(tree->root, &tree->zones), 0);
	assert_int_equal(tree->zones.count, 0);
}

static void a_zone_without_a_name_costs_no_other_zone(void **state)
{
	struct tree *tree = *state;

	put_zone(tree, "intel-rapl:0", "");
	put_zone(tree, "intel-rapl:0:0", "dram\n");
	put_zone(tree, "intel-rapl:1", "package-1\n");
	assert_int_equal(powercap_find_zones(tree->root, &tree->zones), -EBADMSG);
	assert_non_null(strstr(error_text(), "intel-rapl:0/name is empty"));
	assert_int_equal(tree->zones.count, 2);
	expect_zone(tree, 0, "intel-rapl:0 dram", ENERGY_DRAM, POWERCAP_NO_PACKAGE);
	expect_zone(tree, 1, "package-1", ENERGY_PACKAGE, 1);
}

static struct powercap_zone *only_zone(struct tree *tree)
{
	put_zone(tree, "intel-rapl:0", "package-0\n");
	assert_int_equal(powercap_find_zones(tree->root, &tree->zones), 0);
	assert_int_equal(tree->zones.count, 1);
	return &tree->zones.items[0];
}

static double read_joules(const struct tree *tree, struct powercap_zone *zone, uint64_t now_ns)
{
	double joules = -1;
	int err = powercap_zone_read(tree->root, zone, now_ns, &joules);

	if (err)
		fail_msg("%s", error_text());
	return joules;
}

static void differences_add_up_over_the_end_of_the_counter(void **state)
{
	struct tree *tree = *state;
	struct powercap_zone *zone = only_zone(tree);

	assert_true(read_joules(tree, zone, 10 * SECOND) == 0);
	put_energy(tree, zone->folder, "26000000\n");
	assert_true(read_joules(tree, zone, 11 * SECOND) == 25);
	/* Nearly a whole round is not possible in a second, and a little more than one is not seen: it wrapped once. */
	zone->last_uj = 262143328850 - 3000000;
	put_energy(tree, zone->folder, "4000000\n");
	assert_true(read_joules(tree, zone, 12 * SECOND) == 7);
	put_energy(tree, zone->folder, "4000000");
	assert_true(read_joules(tree, zone, 13 * SECOND) == 0);
}

static void expect_error(struct tree *tree, struct powercap_zone *zone, uint64_t now_ns, int error,
			 const char *text)
{
	double joules = -1;

	assert_int_equal(powercap_zone_read(tree->root, zone, now_ns, &joules), error);
	if (!strstr(error_text(), text))
		fail_msg("%s: no %s", error_text(), text);
	assert_true(joules == -1);
}

static void damaged_files_are_errors_and_lose_nothing(void **state)
{
	static const struct {
		const char *text;
		const char *error;
	} damaged[] = {
		{ "", "is empty" },
		{ "\n", "is empty" },
		{ "-5\n", "has no number: -5" },
		{ "+5\n", "has no number: +5" },
		{ " 5\n", "has no number:  5" },
		{ "5 J\n", "has no number: 5 J" },
		{ "0x10\n", "has no number: 0x10" },
		{ "262143328851\n", "over the zone's maximum" },
		{ "18446744073709551616\n", "has no number: 18446744073709551616" },
		{ "111111111111111111111111111111111111111111111111111111111\n", "is too long" },
	};
	struct tree *tree = *state;
	struct powercap_zone *zone = only_zone(tree);
	char path[256];

	assert_true(read_joules(tree, zone, 1 * SECOND) == 0);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		put_energy(tree, zone->folder, damaged[i].text);
		expect_error(tree, zone, (2 + i) * SECOND, -EBADMSG, damaged[i].error);
	}
	snprintf(path, sizeof(path), "%s/class/powercap/%s/energy_uj", tree->root, zone->folder);
	assert_int_equal(unlink(path), 0);
	expect_error(tree, zone, 20 * SECOND, -ENOENT, "cannot read");
	/* The next difference has what was used in between. */
	put_energy(tree, zone->folder, "43000000\n");
	assert_true(read_joules(tree, zone, 21 * SECOND) == 42);
	put(tree, "class/powercap/intel-rapl:0", "max_energy_range_uj", "");
	expect_error(tree, zone, 22 * SECOND, -EBADMSG, "max_energy_range_uj is empty");
}

static void a_file_that_may_not_be_read_is_an_error(void **state)
{
	struct tree *tree = *state;
	struct powercap_zone *zone = only_zone(tree);
	double joules;
	char path[256];

	snprintf(path, sizeof(path), "%s/class/powercap/%s/energy_uj", tree->root, zone->folder);
	chmod(path, 0);
	if (!access(path, R_OK) && geteuid() == 0) {
		/* Another user may not. */
		if (chmod(tree->root, 0755) || seteuid(65534))
			skip();
	}
	assert_int_equal(powercap_zone_read(tree->root, zone, SECOND, &joules), -EACCES);
	assert_int_equal(seteuid(getuid()), 0);
}

static void a_counter_that_jumps_counts_from_there_on(void **state)
{
	struct tree *tree = *state;
	struct powercap_zone *zone = only_zone(tree);

	put_energy(tree, zone->folder, "200000000000\n");
	assert_true(read_joules(tree, zone, 1 * SECOND) == 0);
	/* As after a reset: it would be 62 kJ in a second. */
	put_energy(tree, zone->folder, "5000000\n");
	expect_error(tree, zone, 2 * SECOND, -ERANGE, "from 200000000000 to 5000000 in 1.000 s");
	put_energy(tree, zone->folder, "6000000\n");
	assert_true(read_joules(tree, zone, 3 * SECOND) == 1);
	/* In 10 minutes it may have wrapped more than once. */
	put_energy(tree, zone->folder, "7000000\n");
	expect_error(tree, zone, 603 * SECOND, -ERANGE, "was not read for 600 s");
	put_energy(tree, zone->folder, "8000000\n");
	assert_true(read_joules(tree, zone, 604 * SECOND) == 1);
}

static void cpus_have_packages(void **state)
{
	struct tree *tree = *state;

	put(tree, "devices/system/cpu/cpu3/topology", "physical_package_id", "1\n");
	put(tree, "devices/system/cpu/cpu4/topology", "physical_package_id", "-1\n");
	assert_int_equal(powercap_package_of_cpu(tree->root, 3), 1);
	assert_int_equal(powercap_package_of_cpu(tree->root, 4), POWERCAP_NO_PACKAGE);
	assert_int_equal(powercap_package_of_cpu(tree->root, 5), POWERCAP_NO_PACKAGE);
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(zones_are_found_once_with_kind_and_package),
		TREE_TEST(a_machine_without_zones_is_no_error),
		TREE_TEST(a_zone_without_a_name_costs_no_other_zone),
		TREE_TEST(differences_add_up_over_the_end_of_the_counter),
		TREE_TEST(damaged_files_are_errors_and_lose_nothing),
		TREE_TEST(a_file_that_may_not_be_read_is_an_error),
		TREE_TEST(a_counter_that_jumps_counts_from_there_on),
		TREE_TEST(cpus_have_packages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
