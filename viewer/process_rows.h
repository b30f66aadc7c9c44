/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rows of the table of processes: samples by process, or by what processes share. A request says which (`group`), and
 * which processes count (`with=COLUMN:PATTERN`, repeatable).
 */
#ifndef VIEWER_PROCESS_ROWS_H
#define VIEWER_PROCESS_ROWS_H

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "viewer/name_pattern.h"
#include "viewer/question.h"

enum row_grouping {
	ROWS_BY_PROCESS,
	ROWS_BY_NAME,
	ROWS_BY_UNIT,
	ROWS_BY_CONTAINER,
	ROWS_BY_USER,
	ROWS_BY_PARENT,
	ROWS_BY_THREAD,
	ROWS_BY_CPU,
	ROW_GROUPING_COUNT,
};

/** Columns that processes have texts in. */
enum row_column {
	ROW_NAME,
	ROW_PID,
	ROW_COMMAND_LINE,
	ROW_USER,
	ROW_UNIT,
	ROW_CONTAINER,
	ROW_PARENT,
	ROW_THREAD,
	ROW_HOST,
	ROW_COLUMN_COUNT,
};

enum {
	/** Samples of processes that do not count have this row. */
	PROCESS_ROW_NONE = UINT32_MAX,
	ROW_FILTERS_MAX = 16,
	/** Bytes for a text that is made of others. */
	ROW_TEXT_BYTES = 320,
	/** Digits of an id with the NUL. */
	ROW_ID_BYTES = 17,
	/** Rows that are shown by themselves in a time line. */
	STACKED_ROWS_MAX = 12,
};

struct process_row {
	/** Equal for the same row in all answers of a run. */
	uint64_t id;
	/** A sample of it. Borrowed from the question's view. */
	const struct sample *key;
	/** ROWS_BY_CPU only. */
	uint32_t cpu;
	/** Bit c: its samples differ in column c. */
	uint32_t differing;
	uint32_t process_count;
};

VECTOR_DEFINE(process_row_vector, struct process_row)

/** A pattern for the text in a column. */
struct row_filter {
	enum row_column column;
	struct name_pattern *pattern;
};

struct process_rows {
	/** Borrowed. */
	struct question *question;
	enum row_grouping grouping;
	struct row_filter filters[ROW_FILTERS_MAX];
	size_t filter_count;
	struct process_row_vector items;
	/** Map from ids to indexes. */
	struct hash_map indexes;
	/** Hashes of rows with their processes. */
	struct hash_map processes;
	/** By key: the row's index plus 2; 1: none; 0: not looked at yet. */
	uint32_t *row_of_key;
};

/** -EINVAL with a text for users; -ENOMEM. The caller deinits @rows in any case. */
int process_rows_init(struct process_rows *rows, struct question *question);
void process_rows_deinit(struct process_rows *rows);

/** Finds the index of the sample's row, which is added if it is new; PROCESS_ROW_NONE if it does not count. -ENOMEM. */
int process_rows_find(struct process_rows *rows, const struct history_sample *sample,
		      uint32_t *index);

/** The text of a process in a column, in @text if it is made of others; "" if it is not known, or not to be shown. */
const char *row_column_text(const struct question *question, const struct sample *key,
			    enum row_column column, char text[ROW_TEXT_BYTES]);

/** The column of that name, or -1. */
int row_column_by_name(const char *name, size_t length);

extern const char *const row_column_names[ROW_COLUMN_COUNT];

void process_row_write_id(uint64_t id, char text[ROW_ID_BYTES]);

/** Rows that a request names by their ids (`rows=ID.ID...`), of those that `group` and `with` say. */
struct stacked_rows {
	struct process_rows rows;
	uint64_t ids[STACKED_ROWS_MAX];
	int count;
	/** By index of a row: its slot among the ids plus 1; 0: it is not among them. */
	struct number_vector slots;
};

/** -EINVAL with a text for users; -ENOMEM. The caller deinits @stacked in any case. */
int stacked_rows_init(struct stacked_rows *stacked, struct question *question);
void stacked_rows_deinit(struct stacked_rows *stacked);

/** Finds the slot of the sample's row among the ids; -1: it is not among them. -ENOMEM. */
int stacked_rows_find(struct stacked_rows *stacked, const struct history_sample *sample, int *slot);

#endif
