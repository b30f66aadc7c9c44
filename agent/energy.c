/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/energy.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/host/line_reader.h"
#include "lib/host/powercap.h"

enum {
	POWER_FILE_MAX_BYTES = 4096,
	POWER_MAX_WATTS = 1000000,
};

/* A zone and its sums. */
struct counted_zone {
	struct powercap_zone zone;
	/* In all, and not shared out yet. */
	double joules;
	double pending;
	uint64_t gap_count;
};

/* The time of a package's CPUs in the interval, and the weight of what ran there. */
struct package_time {
	int32_t package;
	double wall_ns;
	double idle_ns;
	double weight;
};

/* A process on a CPU in the interval. */
struct weighted_row {
	struct cost_key key;
	uint64_t cgroup_id;
	int32_t package;
	double weight;
};

VECTOR_DEFINE(counted_zone_vector, struct counted_zone)
VECTOR_DEFINE(package_time_vector, struct package_time)
VECTOR_DEFINE(weighted_row_vector, struct weighted_row)
VECTOR_DEFINE(package_vector, int32_t)

struct energy {
	const char *sys_root;
	struct counted_zone_vector zones;
	/* From the file; used if there are no zones. */
	bool has_watts;
	double idle_watts;
	double full_watts;
	/* When the counters were read last, and the time since the last interval that was shared out. */
	uint64_t read_ns;
	double pending_seconds;
	double estimated_joules;
	/* By CPU: its package. */
	struct package_vector packages;
	/* The interval. */
	struct package_time_vector times;
	struct weighted_row_vector rows;
};

/* --- the file with watts --- */

struct watts {
	double idle;
	double full;
};

static int take_line(void *context, const char *line, size_t length)
{
	struct watts *watts = context;
	char text[64], *value, *end;
	double *field;
	double number;

	if (!length || *line == '#')
		return 0;
	if (length >= sizeof(text))
		return fail(-EINVAL, "a line is too long");
	snprintf(text, sizeof(text), "%.*s", (int)length, line);
	field = !strncmp(text, "idle ", 5) ? &watts->idle :
		!strncmp(text, "full ", 5) ? &watts->full :
					     NULL;
	value = text + 5;
	number = field ? strtod(value, &end) : NAN;
	if (!field || *value < '0' || *value > '9' || *end || !isfinite(number) ||
	    number > POWER_MAX_WATTS)
		return fail(-EINVAL, "no such line as '%s' is known", text);
	*field = number;
	return 0;
}

static int read_power_file(struct energy *energy, const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct watts watts = { -1, -1 };
	int err;

	if (fd < 0)
		return fail(-EINVAL, "-energy-file %s: cannot open it: %s", path, strerror(errno));
	err = lines_of_fd(fd, POWER_FILE_MAX_BYTES, take_line, &watts);
	if (!err && (watts.idle < 0 || watts.full < 0))
		err = fail(-EINVAL, "a line is missing");
	if (!err && watts.full < watts.idle)
		err = fail(-EINVAL, "full load takes less than an idle machine");
	if (err)
		return fail(-EINVAL,
			    "-energy-file %s: %s; it needs two lines with watts, such as 'idle 40' "
			    "and 'full 180'",
			    path, err == -EINVAL ? error_text() : strerror(-err));
	energy->has_watts = true;
	energy->idle_watts = watts.idle;
	energy->full_watts = watts.full;
	return 0;
}

/* --- zones --- */

static int find_zones(struct energy *energy)
{
	_cleanup_(powercap_zone_vector_deinit) struct powercap_zone_vector found = { 0 };
	int err = powercap_find_zones(energy->sys_root, &found);

	if (err == -ENOMEM)
		return err;
	if (err)
		log_warn("%s; other zones of energy are counted", error_text());
	for (size_t i = 0; i < found.count; i++) {
		struct counted_zone counted = { .zone = found.items[i] };
		double joules;

		if (powercap_zone_read(energy->sys_root, &counted.zone, clock_monotonic_ns(),
				       &joules)) {
			log_warn("%s; the energy of %s is not counted", error_text(),
				 counted.zone.name);
			continue;
		}
		err = counted_zone_vector_push(&energy->zones, counted);
		if (err)
			return err;
	}
	return 0;
}

int energy_create(const char *sys_root, const char *power_file, struct energy **out)
{
	struct energy *energy = calloc(1, sizeof(*energy));
	int err;

	if (!energy)
		return -ENOMEM;
	energy->sys_root = sys_root;
	err = power_file ? read_power_file(energy, power_file) : 0;
	if (!err)
		err = find_zones(energy);
	if (err) {
		energy_destroy(energy);
		return err;
	}
	if (energy->zones.count && energy->has_watts) {
		log_info("-energy-file is not used: this machine measures its energy");
		energy->has_watts = false;
	}
	energy->read_ns = clock_monotonic_ns();
	*out = energy;
	return 0;
}

void energy_destroy(struct energy *energy)
{
	if (!energy)
		return;
	counted_zone_vector_deinit(&energy->zones);
	package_vector_deinit(&energy->packages);
	package_time_vector_deinit(&energy->times);
	weighted_row_vector_deinit(&energy->rows);
	free(energy);
}

uint32_t energy_sources(const struct energy *energy)
{
	uint32_t sources = energy->has_watts ? COST_FIRST_ENERGY << ENERGY_HOST : 0;

	for (size_t i = 0; i < energy->zones.count; i++)
		sources |= COST_FIRST_ENERGY << energy->zones.items[i].zone.kind;
	return sources;
}

void energy_read(struct energy *energy, uint64_t now_ns)
{
	for (size_t i = 0; i < energy->zones.count; i++) {
		struct counted_zone *counted = &energy->zones.items[i];
		double joules;

		if (powercap_zone_read(energy->sys_root, &counted->zone, now_ns, &joules)) {
			if (!counted->gap_count++)
				log_warn("%s; the energy of %s has a gap", error_text(),
					 counted->zone.name);
			continue;
		}
		counted->joules += joules;
		counted->pending += joules;
	}
	energy->pending_seconds += (double)(now_ns - energy->read_ns) / NS_PER_SECOND;
	energy->read_ns = now_ns;
}

int energy_list_zones(const struct energy *energy, struct energy_zone_vector *zones)
{
	int err = 0;

	zones->count = 0;
	for (size_t i = 0; i < energy->zones.count && !err; i++) {
		const struct counted_zone *counted = &energy->zones.items[i];
		struct energy_zone zone = {
			.kind = counted->zone.kind,
			.joules = counted->joules,
			.gap_count = counted->gap_count,
		};

		snprintf(zone.name, sizeof(zone.name), "%s", counted->zone.name);
		err = energy_zone_vector_push(zones, zone);
	}
	if (energy->has_watts && !err)
		err = energy_zone_vector_push(zones, (struct energy_zone){
							     .name = "host",
							     .kind = ENERGY_HOST,
							     .joules = energy->estimated_joules,
						     });
	return err;
}

/* --- the interval --- */

static int package_of(struct energy *energy, uint32_t cpu, int32_t *package)
{
	while (energy->packages.count <= cpu) {
		int32_t next =
			powercap_package_of_cpu(energy->sys_root, (uint32_t)energy->packages.count);
		int err = package_vector_push(&energy->packages, next);

		if (err)
			return err;
	}
	*package = energy->packages.items[cpu];
	return 0;
}

static int time_of(struct energy *energy, int32_t package, struct package_time **time)
{
	struct package_time_vector *times = &energy->times;
	int err;

	for (size_t i = 0; i < times->count; i++)
		if (times->items[i].package == package) {
			*time = &times->items[i];
			return 0;
		}
	err = package_time_vector_push(times, (struct package_time){ .package = package });
	if (!err)
		*time = &times->items[times->count - 1];
	return err;
}

/* The part of the energy that a row gets, before it is compared with others. */
static double weight_of(const struct cost_row *row, bool has_cycles)
{
	struct costs_sum sum = { .run_time_ns = row->run_time_ns };

	if (!has_cycles)
		return (double)row->run_time_ns;
	sum.counters[COST_CYCLES] = row->counters[COST_CYCLES];
	return (double)costs_sum_counter(&sum, COST_CYCLES);
}

int energy_take_row(struct energy *energy, uint32_t cpu, const struct cost_row *row, bool is_idle,
		    bool has_cycles)
{
	struct weighted_row weighted = { .key = row->key, .cgroup_id = row->cgroup_id };
	struct package_time *time;
	int err = package_of(energy, cpu, &weighted.package);

	if (!err)
		err = time_of(energy, weighted.package, &time);
	if (err)
		return err;
	time->wall_ns += (double)row->run_time_ns;
	if (is_idle) {
		time->idle_ns += (double)row->run_time_ns;
		return 0;
	}
	weighted.weight = weight_of(row, has_cycles);
	err = weighted_row_vector_push(&energy->rows, weighted);
	if (!err)
		time->weight += weighted.weight;
	return err;
}

/* The times of @package; of all if none is known of this one. */
static struct package_time sum_times(const struct energy *energy, int32_t package)
{
	struct package_time sum = { .package = POWERCAP_NO_PACKAGE };

	for (size_t i = 0; i < energy->times.count; i++) {
		const struct package_time *time = &energy->times.items[i];

		if (package != POWERCAP_NO_PACKAGE && time->package == package)
			return *time;
		sum.wall_ns += time->wall_ns;
		sum.idle_ns += time->idle_ns;
		sum.weight += time->weight;
	}
	return sum;
}

/* Joules for the unit of weight on the CPUs of a package, or on all. */
struct rate {
	int32_t package;
	enum energy_kind kind;
	double joules;
};

/* Adds the idle part of @joules to @idle. Returns the rate of the rest. */
static struct rate split(const struct package_time *time, enum energy_kind kind, double joules,
			 double idle_part, double idle[ENERGY_KIND_COUNT])
{
	/* An interval in which nothing ran, or nothing was counted, is idle. */
	double idle_joules = time->weight > 0 ? joules * idle_part : joules;

	idle[kind] += idle_joules;
	return (struct rate){
		.package = time->package,
		.kind = kind,
		.joules = time->weight > 0 ? (joules - idle_joules) / time->weight : 0,
	};
}

/* Estimates the energy of the interval, and adds its idle part to @idle. */
static struct rate split_estimate(struct energy *energy, double idle[ENERGY_KIND_COUNT])
{
	struct package_time time = sum_times(energy, POWERCAP_NO_PACKAGE);
	double busy = (time.wall_ns - time.idle_ns) / time.wall_ns;
	double idle_joules = energy->idle_watts * energy->pending_seconds;
	double joules = idle_joules +
			(energy->full_watts - energy->idle_watts) * busy * energy->pending_seconds;

	energy->estimated_joules += joules;
	return split(&time, ENERGY_HOST, joules, joules > 0 ? idle_joules / joules : 1, idle);
}

static void share_rows(const struct energy *energy, const struct rate *rates, size_t rate_count,
		       const struct energy_sink *sink)
{
	for (size_t i = 0; i < energy->rows.count; i++) {
		const struct weighted_row *row = &energy->rows.items[i];
		double joules[ENERGY_KIND_COUNT] = { 0 };

		for (size_t j = 0; j < rate_count; j++)
			if (rates[j].package == POWERCAP_NO_PACKAGE ||
			    rates[j].package == row->package)
				joules[rates[j].kind] += rates[j].joules * row->weight;
		sink->take_share(sink->context, &row->key, row->cgroup_id, joules);
	}
}

void energy_share(struct energy *energy, const struct energy_sink *sink)
{
	struct package_time all = sum_times(energy, POWERCAP_NO_PACKAGE);
	double idle[ENERGY_KIND_COUNT] = { 0 };
	struct rate rates[POWERCAP_ZONES_MAX + 1];
	size_t rate_count = 0;

	if (all.wall_ns <= 0)
		return;
	for (size_t i = 0; i < energy->zones.count; i++) {
		struct counted_zone *counted = &energy->zones.items[i];
		struct package_time time = sum_times(energy, counted->zone.package);

		/* CPUs of this package had no time at all. */
		if (time.wall_ns <= 0)
			time = all;
		rates[rate_count++] = split(&time, counted->zone.kind, counted->pending,
					    time.idle_ns / time.wall_ns, idle);
		counted->pending = 0;
	}
	if (energy->has_watts)
		rates[rate_count++] = split_estimate(energy, idle);
	share_rows(energy, rates, rate_count, sink);
	sink->take_idle(sink->context, idle);
	energy->pending_seconds = 0;
	energy->rows.count = 0;
	energy->times.count = 0;
}
