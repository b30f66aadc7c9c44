/* SPDX-License-Identifier: Apache-2.0 */
/* Jumps are relative, so a part of a program can be moved and repeated. */
#include "viewer/expression.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	GROUPS_MAX = 32,
	REPEATS_MAX = 100,
	CODE_MAX = 0x10ffff,
	NO_MOST = -1,
};

struct parser {
	struct expression *expression;
	const char *start;
	const char *at;
	const char *end;
	int depth;
};

uint32_t expression_next_code(const char **at, const char *end)
{
	const unsigned char *bytes = (const unsigned char *)*at;
	size_t more = *bytes >= 0xf0 ? 3 : *bytes >= 0xe0 ? 2 : *bytes >= 0xc0 ? 1 : 0;
	uint32_t code = more ? *bytes & (0x3fU >> more) : *bytes;

	if (more >= (size_t)(end - *at))
		more = 0;
	for (size_t i = 1; i <= more; i++) {
		if ((bytes[i] & 0xc0) != 0x80) {
			*at += 1;
			return *bytes;
		}
		code = code << 6 | (bytes[i] & 0x3f);
	}
	*at += more + 1;
	return code;
}

/* --- errors --- */

/* Counts characters from 1. */
static size_t position(const struct parser *parser, const char *at)
{
	size_t count = 1;

	for (const char *c = parser->start; c < at; count++)
		expression_next_code(&c, parser->end);
	return count;
}

static int refuse(const struct parser *parser, const char *at, const char *why)
{
	return fail(-EINVAL, "character %zu of the expression: %s", position(parser, at), why);
}

/* --- the program --- */

static int add_operation(struct parser *parser, struct operation operation)
{
	struct expression *expression = parser->expression;

	if (expression->operation_count == OPERATIONS_MAX)
		return refuse(parser, parser->at, "up to here it is too long");
	expression->operations[expression->operation_count++] = operation;
	return 0;
}

static int insert_operation(struct parser *parser, size_t index, struct operation operation)
{
	struct operation *operations = parser->expression->operations;
	size_t count = parser->expression->operation_count;
	int err = add_operation(parser, operation);

	if (err)
		return err;
	memmove(&operations[index + 1], &operations[index], (count - index) * sizeof(*operations));
	operations[index] = operation;
	return 0;
}

static int add_copy(struct parser *parser, const struct operation *block, size_t length)
{
	int err = 0;

	for (size_t i = 0; i < length && !err; i++)
		err = add_operation(parser, block[i]);
	return err;
}

/* Repeats the operations from @index on; @most may be NO_MOST. */
static int repeat(struct parser *parser, size_t index, int least, int most)
{
	struct expression *expression = parser->expression;
	struct operation block[OPERATIONS_MAX];
	size_t length = expression->operation_count - index;
	int end = (int)length, err = 0;

	memcpy(block, &expression->operations[index], length * sizeof(*block));
	expression->operation_count = index;
	for (int i = 0; i < least && !err; i++)
		err = add_copy(parser, block, length);
	for (int i = least; i < most && !err; i++) {
		err = add_operation(parser,
				    (struct operation){ .kind = SPLIT, .to = 1, .other = end + 1 });
		if (!err)
			err = add_copy(parser, block, length);
	}
	if (err || most != NO_MOST)
		return err;
	err = add_operation(parser, (struct operation){ .kind = SPLIT, .to = 1, .other = end + 2 });
	if (!err)
		err = add_copy(parser, block, length);
	return err ? err :
		     add_operation(parser, (struct operation){ .kind = JUMP, .to = -end - 1 });
}

/* --- sets --- */

static int add_range(struct parser *parser, struct code_set *set, uint32_t from, uint32_t to)
{
	if (set->count == RANGES_MAX)
		return refuse(parser, parser->at, "up to here the set has too many parts");
	set->ranges[set->count++] = (struct code_range){ from, to };
	return 0;
}

/* Adds \d, \w, \s or what is not in one of them. False if @letter is none of these. */
static bool add_class(struct parser *parser, struct code_set *set, char letter, int *err)
{
	static const struct code_range digits[] = { { '0', '9' } };
	static const struct code_range words[] = {
		{ '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
	};
	static const struct code_range spaces[] = { { '\t', '\r' },	{ ' ', ' ' },
						    { 0xa0, 0xa0 },	{ 0x1680, 0x1680 },
						    { 0x2000, 0x200a }, { 0x2028, 0x2029 },
						    { 0x202f, 0x202f }, { 0x205f, 0x205f },
						    { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };
	const struct code_range *ranges = NULL;
	size_t count = 0;
	uint32_t next = 0;

	switch (letter | 0x20) {
	case 'd':
		ranges = digits;
		count = sizeof(digits) / sizeof(digits[0]);
		break;
	case 'w':
		ranges = words;
		count = sizeof(words) / sizeof(words[0]);
		break;
	case 's':
		ranges = spaces;
		count = sizeof(spaces) / sizeof(spaces[0]);
		break;
	default:
		return false;
	}
	for (size_t i = 0; i < count && !*err; i++) {
		if (letter & 0x20)
			*err = add_range(parser, set, ranges[i].from, ranges[i].to);
		else if (ranges[i].from > next)
			*err = add_range(parser, set, next, ranges[i].from - 1);
		next = ranges[i].to + 1;
	}
	if (!(letter & 0x20) && !*err)
		*err = add_range(parser, set, next, CODE_MAX);
	return true;
}

static int new_set(struct parser *parser, struct code_set **set)
{
	struct expression *expression = parser->expression;

	if (expression->set_count == SETS_MAX)
		return refuse(parser, parser->at, "up to here it has too many sets");
	*set = &expression->sets[expression->set_count++];
	return add_operation(parser,
			     (struct operation){ .kind = MATCH_SET,
						 .code = (uint32_t)expression->set_count - 1 });
}

/* Reads what follows a backslash that stands for one character. */
static int parse_escape(struct parser *parser, uint32_t *code)
{
	static const char letters[] = "tnrfv0", codes[] = "\t\n\r\f\v";
	const char *found, *backslash = parser->at - 1;

	if (parser->at == parser->end)
		return refuse(parser, backslash, "nothing follows the backslash");
	found = strchr(letters, *parser->at);
	*code = expression_next_code(&parser->at, parser->end);
	if (found)
		*code = (unsigned char)codes[found - letters];
	else if (is_word_code(*code))
		return refuse(parser, backslash, "this escape is not known here");
	return 0;
}

/* Reads a character of a set, or a class, which is added. */
static int parse_set_part(struct parser *parser, struct code_set *set, uint32_t *code,
			  bool *is_class)
{
	int err = 0;

	*is_class = false;
	*code = expression_next_code(&parser->at, parser->end);
	if (*code != '\\')
		return 0;
	if (parser->at < parser->end && add_class(parser, set, *parser->at, &err)) {
		*is_class = true;
		parser->at++;
		return err;
	}
	if (parser->at < parser->end && *parser->at == 'b') {
		parser->at++;
		*code = '\b';
		return 0;
	}
	if (parser->at < parser->end && *parser->at == '-') {
		parser->at++;
		*code = '-';
		return 0;
	}
	return parse_escape(parser, code);
}

/* Reads a set behind its opening bracket. */
static int parse_set(struct parser *parser)
{
	const char *opening = parser->at - 1;
	struct code_set *set;
	int err = new_set(parser, &set);

	if (err)
		return err;
	set->is_negated = parser->at < parser->end && *parser->at == '^';
	parser->at += set->is_negated;
	while (parser->at < parser->end && *parser->at != ']') {
		const char *start = parser->at;
		bool is_class, is_class_too = false;
		uint32_t from, to;

		err = parse_set_part(parser, set, &from, &is_class);
		to = from;
		if (!err && !is_class && parser->end - parser->at >= 2 && *parser->at == '-' &&
		    parser->at[1] != ']') {
			parser->at++;
			err = parse_set_part(parser, set, &to, &is_class_too);
			if (!err && is_class_too)
				err = refuse(parser, start, "the range has no end");
			else if (!err && from > to)
				err = refuse(parser, start, "the range ends before its start");
		}
		if (!err && !is_class)
			err = add_range(parser, set, from, to);
		if (err)
			return err;
	}
	if (parser->at == parser->end)
		return refuse(parser, opening, "the set has no closing bracket ]");
	parser->at++;
	return 0;
}

/* --- the grammar --- */

static int parse_alternatives(struct parser *parser);

/* Reads a group behind its opening parenthesis. */
static int parse_group(struct parser *parser)
{
	const char *opening = parser->at - 1;
	int err;

	if (parser->at < parser->end && *parser->at == '?') {
		if (parser->end - parser->at < 2 || parser->at[1] != ':')
			return refuse(parser, opening, "this kind of group is not known here");
		parser->at += 2;
	}
	if (parser->depth == GROUPS_MAX)
		return refuse(parser, opening, "too many groups are in each other");
	parser->depth++;
	err = parse_alternatives(parser);
	parser->depth--;
	if (err)
		return err;
	if (parser->at == parser->end)
		return refuse(parser, opening, "the group has no closing parenthesis )");
	parser->at++;
	return 0;
}

static int parse_backslash(struct parser *parser)
{
	struct code_set classes = { 0 };
	struct code_set *set;
	uint32_t code;
	int err = 0;

	if (parser->at < parser->end && (*parser->at | 0x20) == 'b')
		return add_operation(parser,
				     (struct operation){ .kind = *parser->at++ == 'b' ?
									 AT_WORD_EDGE :
									 NOT_AT_WORD_EDGE });
	if (parser->at < parser->end && add_class(parser, &classes, *parser->at, &err)) {
		parser->at++;
		if (!err)
			err = new_set(parser, &set);
		if (!err)
			*set = classes;
		return err;
	}
	err = parse_escape(parser, &code);
	return err ? err :
		     add_operation(parser, (struct operation){ .kind = MATCH_CODE,
							       .code = lower_code(code) });
}

static int parse_atom(struct parser *parser)
{
	const char *start = parser->at;
	uint32_t code = expression_next_code(&parser->at, parser->end);

	switch (code) {
	case '.':
		return add_operation(parser, (struct operation){ .kind = MATCH_ANY });
	case '^':
		return add_operation(parser, (struct operation){ .kind = AT_START });
	case '$':
		return add_operation(parser, (struct operation){ .kind = AT_END });
	case '[':
		return parse_set(parser);
	case '(':
		return parse_group(parser);
	case '\\':
		return parse_backslash(parser);
	case '*':
	case '+':
	case '?':
		return refuse(parser, start, "nothing before it can be repeated");
	case '{':
		return refuse(parser, start, "write \\{ for a brace that is not a repetition");
	default:
		return add_operation(parser, (struct operation){ .kind = MATCH_CODE,
								 .code = lower_code(code) });
	}
}

static int parse_count(struct parser *parser)
{
	int count = 0;

	if (parser->at == parser->end || *parser->at < '0' || *parser->at > '9')
		return -1;
	while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9') {
		count = count * 10 + *parser->at++ - '0';
		if (count > REPEATS_MAX)
			count = REPEATS_MAX + 1;
	}
	return count;
}

/* Reads {n}, {n,} or {n,m} behind its opening brace. */
static int parse_counts(struct parser *parser, int *least, int *most)
{
	const char *opening = parser->at - 1;

	*least = *most = parse_count(parser);
	if (*least >= 0 && parser->at < parser->end && *parser->at == ',') {
		parser->at++;
		*most = parse_count(parser);
	}
	if (*least < 0 || parser->at == parser->end || *parser->at != '}')
		return refuse(parser, opening, "a repetition is {n}, {n,} or {n,m}");
	parser->at++;
	if (*least > REPEATS_MAX || *most > REPEATS_MAX)
		return refuse(parser, opening, "this repeats more than 100 times");
	if (*most != NO_MOST && *least > *most)
		return refuse(parser, opening, "the repetition ends before its start");
	return 0;
}

static bool is_assertion(const struct expression *expression, size_t index)
{
	return expression->operation_count == index + 1 &&
	       expression->operations[index].kind >= AT_START &&
	       expression->operations[index].kind <= NOT_AT_WORD_EDGE;
}

static int parse_repeat(struct parser *parser, size_t index)
{
	int least = 0, most = NO_MOST, err;

	if (parser->at == parser->end || !strchr("*+?{", *parser->at))
		return 0;
	if (is_assertion(parser->expression, index))
		return refuse(parser, parser->at, "nothing before it can be repeated");
	switch (*parser->at++) {
	case '+':
		least = 1;
		break;
	case '?':
		most = 1;
		break;
	case '{':
		err = parse_counts(parser, &least, &most);
		if (err)
			return err;
		break;
	default:
		break;
	}
	/* A lazy repetition matches the same names. */
	if (parser->at < parser->end && *parser->at == '?')
		parser->at++;
	return repeat(parser, index, least, most);
}

static int parse_sequence(struct parser *parser)
{
	int err = 0;

	while (parser->at < parser->end && *parser->at != '|' && *parser->at != ')' && !err) {
		size_t index = parser->expression->operation_count;

		err = parse_atom(parser);
		if (!err)
			err = parse_repeat(parser, index);
	}
	return err;
}

static int parse_alternatives(struct parser *parser)
{
	struct expression *expression = parser->expression;
	size_t index = expression->operation_count, jump;
	int err = parse_sequence(parser);

	if (err || parser->at == parser->end || *parser->at != '|')
		return err;
	parser->at++;
	err = insert_operation(
		parser, index,
		(struct operation){ .kind = SPLIT,
				    .to = 1,
				    .other = (int)(expression->operation_count - index) + 2 });
	jump = expression->operation_count;
	if (!err)
		err = add_operation(parser, (struct operation){ .kind = JUMP });
	/* As deep as there are alternatives, each of which has two operations. */
	if (!err)
		err = parse_alternatives(parser);
	if (!err)
		expression->operations[jump].to = (int)(expression->operation_count - jump);
	return err;
}

int expression_compile(struct expression *expression, const char *start, const char *end)
{
	struct parser parser = { .expression = expression, .start = start, .at = start, .end = end };
	int err = parse_alternatives(&parser);

	if (!err && parser.at < end)
		err = refuse(&parser, parser.at, "no group is open here");
	return err ? err : add_operation(&parser, (struct operation){ .kind = FOUND });
}
