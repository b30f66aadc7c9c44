/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/diff_files.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/text_builder.h"
#include "viewer/open/open_file.h"
#include "viewer/open/profile_difference.h"

enum {
	ROWS_MAX = 50,
	LISTED_REGRESSIONS_MAX = 10,
	HUNDRED_PERCENT = 100,
};

/* Among hundreds of functions some differ by chance by two standard deviations, hardly one by three. */
#define SIGNIFICANT_Z 3.0
/* Smaller changes are shown as none. */
#define SHOWN_CHANGE 0.00005

static void print_value(const struct profile_difference *difference, enum difference_side side,
			const char *name, const char *path)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };

	value_type_append_value(&text, difference->type, difference->all[side].value);
	text_builder_append(&text, " ");
	if (strcmp(difference->type->unit, "count") != 0) {
		text_builder_append_name(&text, difference->type->unit);
		text_builder_append(&text, " of ");
	}
	text_builder_append_name(&text, difference->type->type);
	if (difference->has_samples &&
	    difference->all[side].samples != (uint64_t)difference->all[side].value)
		text_builder_format(&text, ", %llu samples",
				    (unsigned long long)difference->all[side].samples);
	printf("%s: %s: %s\n", name, path, text_builder_text(&text));
}

/* The part of a sum in all, as the change is counted, in %. */
static double percent_of(const struct profile_difference *difference,
			 const struct difference_sum *sums, enum difference_side side)
{
	enum difference_side whole = difference->has_shares ? side : DIFFERENCE_BEFORE;
	double all = (double)difference->all[whole].value;

	return all > 0 ? HUNDRED_PERCENT * (double)sums[side].value / all : 0;
}

static void print_sums(const struct profile_difference *difference,
		       const struct difference_sum *sums)
{
	printf("%8.2f %8.2f %+8.2f ", percent_of(difference, sums, DIFFERENCE_BEFORE),
	       percent_of(difference, sums, DIFFERENCE_AFTER),
	       HUNDRED_PERCENT * profile_difference_change(difference, sums));
	if (difference->has_samples)
		printf("%6.1f  ", profile_difference_z(difference, sums));
	else
		printf("     -  ");
}

static bool has_changed(const struct profile_difference *difference,
			const struct function_difference *function)
{
	return fabs(profile_difference_change(difference, function->self)) >= SHOWN_CHANGE ||
	       fabs(profile_difference_change(difference, function->total)) >= SHOWN_CHANGE;
}

static void print_difference(const struct options *options,
			     const struct profile_difference *difference)
{
	size_t shown = 0, changed = 0;

	print_value(difference, DIFFERENCE_BEFORE, "before", options->diffs[0]);
	print_value(difference, DIFFERENCE_AFTER, "after", options->diffs[1]);
	printf(difference->has_shares ?
		       "Figures are shares of all, in %%; z is the significance of a change: beyond 3 it is hardly chance.\n" :
		       "Figures are relative to all before, in %%; nothing is known of their significance.\n");
	printf("%35s%35s\n%8s %8s %8s %6s  %8s %8s %8s %6s  %s\n", "self", "total", "before",
	       "after", "change", "z", "before", "after", "change", "z", "function");
	for (size_t i = 0; i < difference->functions.count; i++) {
		const struct function_difference *function = &difference->functions.items[i];

		if (!has_changed(difference, function))
			continue;
		changed++;
		if (shown == ROWS_MAX)
			continue;
		shown++;
		print_sums(difference, function->self);
		print_sums(difference, function->total);
		printf("%s\n", function->name);
	}
	if (!changed)
		printf("no function has changed\n");
	else if (shown < changed)
		printf("%zu more functions have changed less\n", changed - shown);
}

/* True if the sum grew by more than the limit, and not by chance. */
static bool is_regression(const struct options *options,
			  const struct profile_difference *difference,
			  const struct difference_sum *sums)
{
	return profile_difference_change(difference, sums) > options->fail_above &&
	       (!difference->has_samples ||
		profile_difference_z(difference, sums) >= SIGNIFICANT_Z);
}

static int judge(const struct options *options, const struct profile_difference *difference)
{
	size_t regressions = 0;

	for (size_t i = 0; i < difference->functions.count; i++) {
		const struct function_difference *function = &difference->functions.items[i];
		bool is_self = is_regression(options, difference, function->self);

		if (!is_self && !is_regression(options, difference, function->total))
			continue;
		if (regressions++ < LISTED_REGRESSIONS_MAX)
			log_error("%s grew by %.2f %% (%s); the limit of -fail-above is %g %%",
				  function->name,
				  HUNDRED_PERCENT * profile_difference_change(
							    difference, is_self ? function->self :
										  function->total),
				  is_self ? "self" : "total",
				  HUNDRED_PERCENT * options->fail_above);
	}
	if (regressions > LISTED_REGRESSIONS_MAX)
		log_error("%zu more functions grew by more than that",
			  regressions - LISTED_REGRESSIONS_MAX);
	return regressions ? EXIT_STATUS_REGRESSION : EXIT_STATUS_DONE;
}

static int open_both(const struct options *options, struct opened_samples *opened,
		     struct profile_difference *difference)
{
	int error = open_file(options->diffs[0], &opened[0]);

	if (!error)
		error = open_file(options->diffs[1], &opened[1]);
	if (!error && options->value_type &&
	    opened_samples_select_type(&opened[0], options->value_type))
		error = fail(-EINVAL, "%s: %s", options->diffs[0], error_text());
	if (error)
		return error;
	error = profile_difference_init(difference, &opened[0], &opened[1]);
	return error == -EBADMSG ? fail(-EINVAL, "%s and %s cannot be compared: %s",
					options->diffs[0], options->diffs[1], error_text()) :
				   error;
}

int diff_files(const struct options *options)
{
	_cleanup_(profile_difference_deinit) struct profile_difference difference = { 0 };
	struct opened_samples opened[DIFFERENCE_SIDES] = { 0 };
	int error = open_both(options, opened, &difference);
	int status = EXIT_STATUS_DONE;

	if (!error) {
		print_difference(options, &difference);
		if (options->has_fail_above)
			status = judge(options, &difference);
		if (fflush(stdout) || ferror(stdout))
			error = fail(-EIO,
				     "standard output cannot be written; check where it leads");
	}
	for (int i = 0; i < DIFFERENCE_SIDES; i++)
		opened_samples_deinit(&opened[i]);
	if (!error)
		return status;
	log_error("%s", error == -ENOMEM ? "no memory for the comparison" : error_text());
	return error == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED;
}
