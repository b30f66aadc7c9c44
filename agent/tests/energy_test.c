/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/energy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"

/* Two packages of two CPUs each. */
struct machine {
	char root[64];
	struct energy *energy;
	struct cost_table table;
	uint64_t now_ns;
};

static void put(const struct machine *machine, const char *folder, const char *file,
		const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "mkdir -p %s/%s", machine->root, folder);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/%s/%s", machine->root, folder, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void put_joules(const struct machine *machine, const char *zone, unsigned int joules)
{
	char folder[64], text[32];

	snprintf(folder, sizeof(folder), "class/powercap/%s", zone);
	snprintf(text, sizeof(text), "%u000000\n", joules);
	put(machine, folder, "energy_uj", text);
}

static void put_zone(const struct machine *machine, const char *zone, const char *name)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "class/powercap/%s", zone);
	put(machine, folder, "name", name);
	put(machine, folder, "max_energy_range_uj", "262143328850\n");
	put_joules(machine, zone, 100);
}

static int make_machine(void **state)
{
	struct machine *machine = calloc(1, sizeof(*machine));

	snprintf(machine->root, sizeof(machine->root), "/tmp/energy_XXXXXX");
	assert_non_null(mkdtemp(machine->root));
	for (int cpu = 0; cpu < 4; cpu++) {
		char folder[64];

		snprintf(folder, sizeof(folder), "devices/system/cpu/cpu%d/topology", cpu);
		put(machine, folder, "physical_package_id", cpu < 2 ? "0\n" : "1\n");
	}
	cost_table_init(&machine->table, 0);
	*state = machine;
	return 0;
}

static int remove_machine(void **state)
{
	struct machine *machine = *state;
	char command[128];
	int status;

	snprintf(command, sizeof(command), "rm -rf %s", machine->root);
	status = system(command);
	energy_destroy(machine->energy);
	cost_table_deinit(&machine->table);
	free(machine);
	return status;
}

static void begin(struct machine *machine, const char *power_file, uint32_t kinds)
{
	if (energy_create(machine->root, power_file, &machine->energy))
		fail();
	assert_int_equal(energy_sources(machine->energy), kinds * COST_FIRST_ENERGY);
	machine->now_ns = clock_monotonic_ns();
}

/* A process, or the idle task with the pid 0, ran on @cpu for so many ms. */
static void run(struct machine *machine, uint32_t cpu, uint32_t pid, uint64_t ms, uint64_t cycles)
{
	struct cost_row row = {
		.key = { .start_time_ns = pid, .id = pid, .pid = pid },
		.cgroup_id = pid % 2,
		.run_time_ns = ms * NS_PER_MS,
		.run_count = 1,
	};

	row.counters[COST_CYCLES] = (struct cost_counter){ cycles, row.run_time_ns };
	assert_int_equal(cost_table_add(&machine->table, cpu, &row, !pid), 0);
	assert_int_equal(energy_take_row(machine->energy, cpu, &row, !pid, cycles), 0);
}

static void take_share(void *context, const struct cost_key *key, uint64_t cgroup_id,
		       const double joules[ENERGY_KIND_COUNT])
{
	struct machine *machine = context;

	cost_table_add_energy(&machine->table, key, cgroup_id, joules);
}

static void take_idle(void *context, const double joules[ENERGY_KIND_COUNT])
{
	struct machine *machine = context;

	cost_table_add_idle_energy(&machine->table, joules);
}

/* Ends an interval of a second. */
static void share(struct machine *machine)
{
	const struct energy_sink sink = { take_share, take_idle, machine };

	energy_share(machine->energy, &sink);
	assert_int_equal(energy_list_zones(machine->energy, &machine->table.zones), 0);
}

static void read_counters(struct machine *machine)
{
	machine->now_ns += NS_PER_SECOND;
	energy_read(machine->energy, machine->now_ns);
}

static double joules_of(const struct machine *machine, uint32_t pid, enum energy_kind kind)
{
	for (size_t i = 0; i < machine->table.processes.count; i++)
		if (machine->table.processes.items[i].key.pid == pid)
			return machine->table.processes.items[i].sum.joules[kind];
	return -1;
}

static void expect_joules(double is, double wanted)
{
	if (fabs(is - wanted) > 1e-9)
		fail_msg("%.12f J, wanted %.12f J", is, wanted);
}

/* The sums of all rows are what the zones have counted, for each kind; those of cgroups are those of their processes. */
static void expect_sums(const struct machine *machine)
{
	const struct cost_table *table = &machine->table;

	for (int kind = 0; kind < ENERGY_KIND_COUNT; kind++) {
		double zones = 0, processes = 0, cgroups = 0;

		for (size_t i = 0; i < table->zones.count; i++)
			if (table->zones.items[i].kind == (enum energy_kind)kind)
				zones += table->zones.items[i].joules;
		for (size_t i = 0; i < table->processes.count; i++)
			processes += table->processes.items[i].sum.joules[kind];
		for (size_t i = 0; i < table->cgroups.count; i++)
			cgroups += table->cgroups.items[i].sum.joules[kind];
		expect_joules(processes + table->idle.joules[kind] + table->unfitted.joules[kind] +
				      table->dropped.joules[kind],
			      zones);
		expect_joules(cgroups, processes + table->dropped.joules[kind]);
		expect_joules(table->host.joules[kind], zones);
	}
}

static void make_zones(const struct machine *machine)
{
	put_zone(machine, "intel-rapl:0", "package-0\n");
	put_zone(machine, "intel-rapl:0:0", "dram\n");
	put_zone(machine, "intel-rapl:1", "package-1\n");
}

static void a_package_is_shared_by_what_ran_on_it(void **state)
{
	struct machine *machine = *state;

	make_zones(machine);
	begin(machine, NULL, 1 << ENERGY_PACKAGE | 1 << ENERGY_DRAM);
	put_joules(machine, "intel-rapl:0", 180);
	put_joules(machine, "intel-rapl:0:0", 108);
	put_joules(machine, "intel-rapl:1", 110);
	read_counters(machine);
	run(machine, 0, 1, 750, 0);
	run(machine, 0, 0, 250, 0);
	run(machine, 1, 2, 250, 0);
	run(machine, 1, 0, 750, 0);
	run(machine, 2, 2, 1000, 0);
	run(machine, 3, 3, 1000, 0);
	share(machine);
	/* Package 0 was idle for half of its time. */
	expect_joules(joules_of(machine, 1, ENERGY_PACKAGE), 30);
	expect_joules(joules_of(machine, 2, ENERGY_PACKAGE), 10 + 5);
	expect_joules(joules_of(machine, 3, ENERGY_PACKAGE), 5);
	expect_joules(joules_of(machine, 1, ENERGY_DRAM), 3);
	expect_joules(joules_of(machine, 3, ENERGY_DRAM), 0);
	expect_joules(machine->table.idle.joules[ENERGY_PACKAGE], 40);
	expect_joules(costs_sum_joules(&machine->table.host), 98);
	expect_sums(machine);
}

static void cycles_go_before_run_time(void **state)
{
	struct machine *machine = *state;

	make_zones(machine);
	begin(machine, NULL, 1 << ENERGY_PACKAGE | 1 << ENERGY_DRAM);
	put_joules(machine, "intel-rapl:1", 140);
	read_counters(machine);
	run(machine, 2, 1, 500, 3000);
	run(machine, 2, 2, 500, 1000);
	share(machine);
	expect_joules(joules_of(machine, 1, ENERGY_PACKAGE), 30);
	expect_joules(joules_of(machine, 2, ENERGY_PACKAGE), 10);
	/* Nothing ran on package 0. */
	expect_sums(machine);
}

static void an_idle_machine_has_all_of_its_energy(void **state)
{
	struct machine *machine = *state;

	make_zones(machine);
	begin(machine, NULL, 1 << ENERGY_PACKAGE | 1 << ENERGY_DRAM);
	put_joules(machine, "intel-rapl:0", 120);
	read_counters(machine);
	/* No rows could be read. The energy is not lost. */
	share(machine);
	put_joules(machine, "intel-rapl:0", 130);
	read_counters(machine);
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		run(machine, cpu, 0, 1000, 0);
	share(machine);
	expect_joules(machine->table.idle.joules[ENERGY_PACKAGE], 30);
	expect_sums(machine);
}

static void energy_of_what_does_not_fit_is_not_lost(void **state)
{
	struct machine *machine = *state;
	struct cost_row unfitted = { .run_time_ns = 500 * NS_PER_MS, .run_count = 1 };

	make_zones(machine);
	machine->table.max_processes = 8;
	begin(machine, NULL, 1 << ENERGY_PACKAGE | 1 << ENERGY_DRAM);
	put_joules(machine, "intel-rapl:0", 177);
	put_joules(machine, "intel-rapl:0:0", 131);
	read_counters(machine);
	for (uint32_t pid = 1; pid <= 30; pid++)
		run(machine, pid % 4, pid, 10, 0);
	assert_int_equal(cost_table_add(&machine->table, 1, &unfitted, false), 0);
	assert_int_equal(energy_take_row(machine->energy, 1, &unfitted, false, false), 0);
	share(machine);
	assert_true(machine->table.dropped_count > 0);
	assert_true(machine->table.dropped.joules[ENERGY_PACKAGE] > 0);
	assert_true(machine->table.unfitted.joules[ENERGY_DRAM] > 0);
	expect_sums(machine);
}

static void a_zone_that_vanishes_costs_no_other_zone(void **state)
{
	struct machine *machine = *state;
	char path[256];

	make_zones(machine);
	begin(machine, NULL, 1 << ENERGY_PACKAGE | 1 << ENERGY_DRAM);
	snprintf(path, sizeof(path), "%s/class/powercap/intel-rapl:0/energy_uj", machine->root);
	assert_int_equal(unlink(path), 0);
	put_joules(machine, "intel-rapl:1", 120);
	for (int i = 0; i < 3; i++) {
		read_counters(machine);
		run(machine, 0, 1, 1000, 0);
		run(machine, 3, 2, 1000, 0);
		share(machine);
	}
	expect_joules(joules_of(machine, 1, ENERGY_PACKAGE), 0);
	expect_joules(joules_of(machine, 2, ENERGY_PACKAGE), 20);
	assert_int_equal(machine->table.zones.items[0].gap_count, 3);
	assert_int_equal(machine->table.zones.items[2].gap_count, 0);
	/* It is there again, with what was used in between. */
	put_joules(machine, "intel-rapl:0", 150);
	read_counters(machine);
	run(machine, 0, 1, 1000, 0);
	share(machine);
	expect_joules(joules_of(machine, 1, ENERGY_PACKAGE), 50);
	expect_sums(machine);
}

static void a_zone_that_cannot_be_read_at_the_start_is_absent(void **state)
{
	struct machine *machine = *state;

	make_zones(machine);
	put(machine, "class/powercap/intel-rapl:0:0", "energy_uj", "much\n");
	begin(machine, NULL, 1 << ENERGY_PACKAGE);
	share(machine);
	assert_int_equal(machine->table.zones.count, 2);
}

static const char *put_watts(const struct machine *machine, const char *text)
{
	static char path[128];

	put(machine, ".", "watts", text);
	snprintf(path, sizeof(path), "%s/watts", machine->root);
	return path;
}

static void a_file_with_watts_stands_for_the_zones(void **state)
{
	struct machine *machine = *state;

	begin(machine, put_watts(machine, "# by the wall socket\nidle 40\nfull 180.5\n"),
	      1 << ENERGY_HOST);
	read_counters(machine);
	machine->now_ns += NS_PER_SECOND;
	energy_read(machine->energy, machine->now_ns);
	run(machine, 0, 1, 750, 0);
	run(machine, 1, 2, 250, 0);
	run(machine, 0, 0, 250, 0);
	run(machine, 1, 0, 750, 0);
	share(machine);
	/* Two seconds, but for the time until the test's clock began. */
	assert_true(fabs(machine->table.idle.joules[ENERGY_HOST] - 80) < 4);
	assert_true(fabs(joules_of(machine, 1, ENERGY_HOST) - 105.375) < 5);
	expect_joules(joules_of(machine, 1, ENERGY_HOST), 3 * joules_of(machine, 2, ENERGY_HOST));
	expect_sums(machine);
}

static void what_is_measured_goes_before_the_file(void **state)
{
	struct machine *machine = *state;

	put_zone(machine, "intel-rapl:0", "package-0\n");
	begin(machine, put_watts(machine, "idle 40\nfull 180\n"), 1 << ENERGY_PACKAGE);
}

static void a_file_that_makes_no_sense_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"idle 40\n",
		"idle 40\nfull 30\n",
		"idle -1\nfull 30\n",
		"idle nan\nfull 30\n",
		"idle 0x10\nfull 300 W\n",
		"idle 40\nfull 1e9\n",
		"idle 40\nfull 180\nmore 3\n",
	};
	struct machine *machine = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (energy_create(machine->root, put_watts(machine, texts[i]), &machine->energy) !=
		    -EINVAL)
			fail_msg("taken: %s", texts[i]);
	assert_int_equal(energy_create(machine->root, "/nonexistent", &machine->energy), -EINVAL);
}

#define MACHINE_TEST(test) cmocka_unit_test_setup_teardown(test, make_machine, remove_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MACHINE_TEST(a_package_is_shared_by_what_ran_on_it),
		MACHINE_TEST(cycles_go_before_run_time),
		MACHINE_TEST(an_idle_machine_has_all_of_its_energy),
		MACHINE_TEST(energy_of_what_does_not_fit_is_not_lost),
		MACHINE_TEST(a_zone_that_vanishes_costs_no_other_zone),
		MACHINE_TEST(a_zone_that_cannot_be_read_at_the_start_is_absent),
		MACHINE_TEST(a_file_with_watts_stands_for_the_zones),
		MACHINE_TEST(what_is_measured_goes_before_the_file),
		MACHINE_TEST(a_file_that_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
