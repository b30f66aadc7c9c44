// SPDX-License-Identifier: Apache-2.0
/*
 * build/options_manual
 *
 * Prints the manual page, allframes(1), in the man macros of roff: the table of options (agent/option_table.h) with the
 * texts of docs/options.md. `make install` installs it.
 *
 * Exit status: 0, 1 if it could not be written, 2 wrong usage.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/option_help.h"
#include "agent/option_table.h"
#include "build/version.h"

/* The characters that roff would take for its own. */
static void put_character(char c)
{
	switch (c) {
	case '\\':
		fputs("\\e", stdout);
		break;
	case '-':
		fputs("\\-", stdout);
		break;
	case '\'':
		fputs("\\(aq", stdout);
		break;
	case '`':
		fputs("\\(ga", stdout);
		break;
	case '~':
		fputs("\\(ti", stdout);
		break;
	case '^':
		fputs("\\(ha", stdout);
		break;
	default:
		putchar(c);
	}
}

static void put_plain(const char *text)
{
	for (; *text; text++)
		put_character(*text);
}

/* A link's target is left out: [text](target). @text is behind the bracket; returns what comes after it. */
static const char *behind_link(const char *text)
{
	const char *end = *text == '(' ? strchr(text, ')') : NULL;

	return end ? end + 1 : text;
}

/* Prints Markdown of one paragraph: code is bold. No line begins with a character of roff's. */
static void put_markdown(const char *text)
{
	bool is_code = false;

	if (*text == '.')
		fputs("\\&", stdout);
	while (*text) {
		char c = *text++;

		if (c == '`') {
			is_code = !is_code;
			fputs(is_code ? "\\fB" : "\\fR", stdout);
		} else if (c == '[' && !is_code && strchr(text, ']') &&
			   strchr(text, ']')[1] == '(') {
			continue;
		} else if (c == ']' && !is_code && *text == '(') {
			text = behind_link(text);
		} else {
			put_character(c);
		}
	}
}

static void put_option(const struct option *option)
{
	fputs(".TP\n\\fB\\-", stdout);
	put_plain(option->name);
	fputs("\\fR", stdout);
	if (option->letter)
		printf(", \\fB\\-%c\\fR", option->letter);
	if (option->value_name) {
		fputs(" \\fI", stdout);
		put_plain(option->value_name);
		fputs("\\fR", stdout);
	}
	putchar('\n');
	put_markdown(option->meaning);
	if (option->details) {
		putchar(' ');
		put_markdown(option->details);
	}
	if (option->initial || option->otherwise) {
		fputs(" Default: ", stdout);
		put_markdown(option->initial ? option->initial : option->otherwise);
		putchar('.');
	}
	putchar('\n');
}

static void put_group(uint32_t group)
{
	fputs(".SS ", stdout);
	put_plain(option_group_title(group));
	putchar('\n');
	for (size_t i = 0; i < option_count; i++) {
		if (option_table[i].group == group)
			put_option(&option_table[i]);
	}
}

static void put_section(const char *title, const char *text)
{
	printf(".SH %s\n", title);
	put_markdown(text);
	putchar('\n');
}

int main(int argument_count, char **arguments)
{
	(void)arguments;
	if (argument_count > 1) {
		fputs("usage: options_manual\n", stderr);
		return 2;
	}
	fputs(".TH ALLFRAMES 1 \"\" \"", stdout);
	put_plain("allframes " AGENT_VERSION);
	puts("\" \"User Commands\"");
	puts(".SH NAME\nallframes \\- profiler of whole systems, with the stacks of all languages");
	puts(".SH SYNOPSIS\n.B allframes\n[\\fIOPTION\\fR...] [\\fB\\-\\-\\fR \\fICOMMAND\\fR "
	     "[\\fIARGUMENT\\fR...]]");
	put_section("DESCRIPTION", option_purpose);
	puts(".PP");
	put_markdown(option_command_text);
	puts("\n.SH EXAMPLES");
	for (size_t i = 0; i < OPTION_EXAMPLE_COUNT; i++) {
		fputs(".TP\n\\fBallframes ", stdout);
		put_plain(option_examples[i].arguments);
		puts("\\fR");
		put_plain(option_examples[i].meaning);
		putchar('\n');
	}
	put_section("OPTIONS", option_rules);
	for (uint32_t i = 1; i <= OPTION_GROUP_COUNT; i++)
		put_group(i % OPTION_GROUP_COUNT);
	put_section("SIGNALS", option_signals);
	put_section("EXIT STATUS", option_statuses);
	puts(".SH SEE ALSO\n.BR perf (1)");
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
