// SPDX-License-Identifier: Apache-2.0
#include "agent/option_help.h"

#include <string.h>

#include "interpreters/languages.h"

enum {
	HELP_COLUMNS = 80,
	/* Column at which the meanings of options begin. */
	MEANING_COLUMN = 33,
};

const struct option_example option_examples[OPTION_EXAMPLE_COUNT] = {
	{ "-- make -j4", "profile a command and what it starts" },
	{ "-p 1234 -duration 10s", "profile a process" },
	{ "-duration 30s -o profile.pb.gz", "profile this machine to a file" },
	{ "", "show this machine live in a browser" },
};

const char option_purpose[] =
	"Samples what every CPU of this machine runs, with frames of the kernel, native "
	"code" LANGUAGES_SHOWN " in one stack, without a change to the programs. Needs root.";

const char *option_group_title(uint32_t group)
{
	static const char *const titles[OPTION_GROUP_COUNT] = {
		[OPTION_SELECTION] =
			"What is profiled, how often and how long (default: all, until Ctrl-C)",
		[OPTION_DESTINATION] = "What is done with it (default: a live page)",
		[OPTION_STACKS] = "Stacks and names",
		[OPTION_PAGE] = "The page, and profiles of other machines on it",
		[OPTION_COLLECTOR] = "A collector",
		[OPTION_MORE] = "More",
	};

	return titles[group];
}

/* Prints the words of @text in lines of at most HELP_COLUMNS columns. */
static void print_paragraph(FILE *file, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column && column + 1 + length > HELP_COLUMNS) {
			fputc('\n', file);
			column = 0;
		} else if (column) {
			fputc(' ', file);
			column++;
		}
		fprintf(file, "%.*s", (int)length, text);
		column += length;
		text += length + strspn(text + length, " ");
	}
	fputc('\n', file);
}

static void print_option(FILE *file, const struct option *option)
{
	char left[64];
	int width;

	width = snprintf(left, sizeof(left), "  -%s%s%s", option->name,
			 option->value_name ? " " : "",
			 option->value_name ? option->value_name : "");
	if (option->letter)
		width += snprintf(left + width, sizeof(left) - (size_t)width, ", -%c",
				  option->letter);
	fprintf(file, "%-*s%s", MEANING_COLUMN - 1, left, width < MEANING_COLUMN - 1 ? "" : " ");
	fprintf(file, "%s", option->brief);
	if (option->initial)
		fprintf(file, " (%s)", option->initial);
	fputc('\n', file);
}

static void print_group(FILE *file, uint32_t group)
{
	fprintf(file, "\n%s:\n", option_group_title(group));
	if (group == OPTION_SELECTION)
		fprintf(file, "%-*s%s\n", MEANING_COLUMN - 1, "  -- COMMAND [ARGUMENT...]",
			"this command and what it starts, to its end");
	for (size_t i = 0; i < option_count; i++) {
		if (option_table[i].group == group)
			print_option(file, &option_table[i]);
	}
}

static void print_examples(FILE *file, const char *program)
{
	size_t widest = 0;

	for (size_t i = 0; i < OPTION_EXAMPLE_COUNT; i++) {
		size_t length = strlen(option_examples[i].arguments);

		if (length > widest)
			widest = length;
	}
	for (size_t i = 0; i < OPTION_EXAMPLE_COUNT; i++)
		fprintf(file, "  %s %-*s  %s\n", program, (int)widest, option_examples[i].arguments,
			option_examples[i].meaning);
}

void options_print_help(FILE *file, const char *program)
{
	fprintf(file, "Usage: %s [OPTION...] [-- COMMAND [ARGUMENT...]]\n\n", program);
	print_paragraph(file, option_purpose);
	fputc('\n', file);
	print_examples(file, program);
	for (uint32_t i = 1; i <= OPTION_GROUP_COUNT; i++)
		print_group(file, i % OPTION_GROUP_COUNT);
	fputc('\n', file);
	print_paragraph(
		file,
		"Options take one dash or two, -name=value or -name value, or come from the "
		"environment as ALLFRAMES_NAME. Durations: 100ms, 5s, 2m30s. Exit status: the "
		"command's; 1 failed, 2 wrong usage, 3 missing privilege or kernel feature. The "
		"manual page and docs/options.md say more.");
}
