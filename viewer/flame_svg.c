/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/flame_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "viewer/counts_tree.h"

__asm__(".pushsection .rodata\n"
	"flame_svg_script: .incbin \"viewer/flame_svg.js\"\n"
	"flame_svg_script_end: .byte 0\n"
	".popsection\n");
extern const char flame_svg_script[], flame_svg_script_end[];

enum {
	WIDTH = 1200,
	ROW_HEIGHT = 17,
	/* The title and what is below it. */
	HEAD_HEIGHT = 44,
	MARGIN = 8,
	/* The mean width of a character of the names. */
	CHARACTER_WIDTH = 7,
	/* As many boxes as there are tenths of a pixel. */
	MAX_NODES = WIDTH * 10,
	HUE_STEP = 47,
};

/* Narrower boxes are left out. */
#define MIN_WIDTH 0.1

struct svg_writer {
	FILE *out;
	const struct stack_counts *counts;
	/* NULL: samples. */
	const struct value_type *type;
	struct flame_tree tree;
	/* By node: the level, and where the box and the next of its children begin. */
	uint32_t *depths;
	double *starts;
	double *next_starts;
	uint32_t depth;
	struct text_builder text;
};

/* Writes text, valid UTF-8 like all names. */
static void write_text(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '&')
			fputs("&amp;", out);
		else if (byte == '<')
			fputs("&lt;", out);
		else if (byte == '>')
			fputs("&gt;", out);
		else if (byte == 0xef && length - i > 2 && (unsigned char)text[i + 1] == 0xbf &&
			 (unsigned char)text[i + 2] >= 0xbe) {
			/* XML does not have these two characters. */
			putc('?', out);
			i += 2;
		} else {
			putc(byte, out);
		}
	}
}

/* --- boxes --- */

static int64_t total_of(const struct svg_writer *writer, size_t node)
{
	return (int64_t)writer->tree.nodes.items[node].total;
}

static double width_of(const struct svg_writer *writer, size_t node)
{
	int64_t all = total_of(writer, 0);

	return all > 0 ? (double)total_of(writer, node) * (WIDTH - 2 * MARGIN) / (double)all : 0;
}

/* Nodes are in depth-first order, so a parent has its box before its children. */
static int locate_boxes(struct svg_writer *writer)
{
	size_t count = writer->tree.nodes.count;

	writer->depths = calloc(count + 1, sizeof(*writer->depths));
	writer->starts = calloc(count + 1, sizeof(*writer->starts));
	writer->next_starts = calloc(count + 1, sizeof(*writer->next_starts));
	if (!writer->depths || !writer->starts || !writer->next_starts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint32_t parent = writer->tree.nodes.items[i].parent;
		double width = width_of(writer, i);

		writer->starts[i] = i ? writer->next_starts[parent] : MARGIN;
		writer->next_starts[i] = writer->starts[i];
		writer->depths[i] = i ? writer->depths[parent] + 1 : 0;
		if (i && width > 0)
			writer->next_starts[parent] += width;
		if (width >= MIN_WIDTH && writer->depths[i] > writer->depth)
			writer->depth = writer->depths[i];
	}
	return 0;
}

static void write_name(const struct svg_writer *writer, uint32_t id, size_t max_length)
{
	const char *name = id == FLAME_ROOT_ID ? "all" : writer->counts->strings.items[id];
	size_t length = id == FLAME_ROOT_ID ? strlen(name) :
					      counts_tree_name_length(writer->counts, id);
	size_t shown = length <= max_length ? length : max_length - 2;

	/* Not within a character. */
	while (shown < length && shown && ((unsigned char)name[shown] & 0xc0) == 0x80)
		shown--;
	write_text(writer->out, name, shown);
	if (shown < length)
		fputs("..", writer->out);
}

/* "1,234 samples, 5.67 %" */
static void write_value(struct svg_writer *writer, int64_t value)
{
	static const struct value_type samples = { .unit = "samples" };
	const struct value_type *type = writer->type ? writer->type : &samples;
	int64_t all = total_of(writer, 0);

	text_builder_clear(&writer->text);
	value_type_append_value(&writer->text, type, value);
	text_builder_append(&writer->text, " ");
	text_builder_append_name(&writer->text,
				 strcmp(type->unit, "count") ? type->unit : type->type);
	if (all)
		text_builder_format(&writer->text, ", %.2f %%",
				    100.0 * (double)value / (double)all);
	write_text(writer->out, text_builder_text(&writer->text), writer->text.length);
}

static void write_box(struct svg_writer *writer, size_t node)
{
	uint32_t id = writer->tree.nodes.items[node].id;
	double width = width_of(writer, node),
	       top = HEAD_HEIGHT + writer->depths[node] * ROW_HEIGHT;
	uint8_t kind = id == FLAME_ROOT_ID ? TEXT_PROCESS : writer->counts->traits.items[id].kind;
	size_t max_length = (size_t)(width / CHARACTER_WIDTH);

	fprintf(writer->out, "<g class=\"k%u\"><title>", kind);
	write_name(writer, id, SIZE_MAX);
	fputs(" (", writer->out);
	write_value(writer, total_of(writer, node));
	fprintf(writer->out,
		")</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"/><text x=\"%.2f\" "
		"y=\"%.0f\">",
		writer->starts[node], top, width, ROW_HEIGHT - 1, writer->starts[node] + 3,
		top + ROW_HEIGHT - 5);
	if (max_length > 2)
		write_name(writer, id, max_length);
	fputs("</text></g>\n", writer->out);
}

/* --- the picture --- */

static void write_styles(const struct svg_writer *writer)
{
	fputs("<style>text{font:12px sans-serif}rect{stroke:#fff;stroke-width:.5}g:hover rect{stroke:#000}"
	      "g{cursor:pointer}.hit rect{fill:#e0f}.above rect{opacity:.5}",
	      writer->out);
	for (unsigned int i = 0; i < TEXT_KIND_COUNT; i++) {
		if (i == TEXT_PROCESS || i == TEXT_THREAD)
			fprintf(writer->out, ".k%u rect{fill:#ddd}", i);
		else
			fprintf(writer->out, ".k%u rect{fill:hsl(%u,70%%,72%%)}", i,
				i * HUE_STEP % 360);
	}
	fputs("</style>\n", writer->out);
}

static void write_fact(void *context, const char *key, const char *value)
{
	struct svg_writer *writer = context;

	write_text(writer->out, key, strlen(key));
	fputs(": ", writer->out);
	text_builder_clear(&writer->text);
	text_builder_append_name(&writer->text, value);
	write_text(writer->out, text_builder_text(&writer->text), writer->text.length);
	putc('\n', writer->out);
}

static void write_head(struct svg_writer *writer, const struct sample_snapshot *snapshot,
		       const struct profile_info *info)
{
	unsigned int height = HEAD_HEIGHT + (writer->depth + 1) * ROW_HEIGHT + MARGIN;

	fprintf(writer->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\">\n<desc>",
		WIDTH, height, WIDTH, height);
	profile_info_describe_all(info, snapshot, write_fact, writer);
	fputs("</desc>\n", writer->out);
	write_styles(writer);
	fprintf(writer->out,
		"<rect width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"18\">", WIDTH,
		height, MARGIN);
	text_builder_clear(&writer->text);
	profile_info_append_name(info, &writer->text);
	write_text(writer->out, text_builder_text(&writer->text), writer->text.length);
	fprintf(writer->out,
		"</text>\n<text id=\"search\" x=\"%d\" y=\"18\" text-anchor=\"end\">Search</text>"
		"<text id=\"reset\" x=\"%d\" y=\"18\" text-anchor=\"end\">Reset zoom</text>"
		"<text id=\"info\" x=\"%d\" y=\"36\"> </text>\n<g id=\"boxes\">\n",
		WIDTH - MARGIN, WIDTH - 8 * MARGIN, MARGIN);
}

static void write_picture(struct svg_writer *writer, const struct sample_snapshot *snapshot,
			  const struct profile_info *info)
{
	write_head(writer, snapshot, info);
	for (size_t i = 0; i < writer->tree.nodes.count; i++)
		if (!i || width_of(writer, i) >= MIN_WIDTH)
			write_box(writer, i);
	fputs("</g>\n<script><![CDATA[\n", writer->out);
	fwrite(flame_svg_script, 1, (size_t)(flame_svg_script_end - flame_svg_script), writer->out);
	fputs("]]></script>\n</svg>\n", writer->out);
}

int flame_svg_write(FILE *out, const struct stack_counts *counts,
		    const struct sample_snapshot *snapshot, const struct profile_info *info)
{
	struct svg_writer writer = {
		.out = out,
		.counts = counts,
		.type = profile_info_shown_type(info),
	};
	int err = counts_tree_init(&writer.tree, counts, MAX_NODES);

	if (!err)
		err = locate_boxes(&writer);
	if (!err)
		write_picture(&writer, snapshot, info);
	if (!err && writer.text.failed)
		err = -ENOMEM;
	flame_tree_deinit(&writer.tree);
	free(writer.depths);
	free(writer.starts);
	free(writer.next_starts);
	text_builder_deinit(&writer.text);
	return err;
}
