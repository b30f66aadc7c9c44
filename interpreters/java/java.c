/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of the tables are looked for in the file, the tables are read from the process, and all
 * that follows is where those say. Names are read from the process each time: the agent's cache of
 * traces keeps them.
 */
#include "interpreters/java/java.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "interpreters/java/java_attach.h"
#include "interpreters/java/java_fields.h"
#include "interpreters/java/java_lines.h"
#include "interpreters/java/java_names.h"
#include "interpreters/java/java_scopes.h"
#include "interpreters/java/java_stubs.h"

struct java_file {
	struct interpreter_file file;
	struct vm_symbols symbols;
	struct java_data_ranges data;
};

struct java_attached {
	struct interpreter_process process;
	/** What `process` has as its data. */
	void *data;
	struct java_layout layout;
	struct java_heaps heaps;
	/** Of the frame that was named last. */
	java_text name;
	java_text source;
};

static int probe(const struct elf_image *image, const char *path, struct interpreter_file **file)
{
	struct vm_symbols symbols;
	struct java_file *made;
	int err = vm_symbols_find(image, &symbols);

	(void)path;
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->file.interpreter = &java_interpreter;
	made->symbols = symbols;
	java_data_ranges_find(image, &made->data);
	snprintf(made->file.version, sizeof(made->file.version), "HotSpot");
	*file = &made->file;
	return 0;
}

static void release(struct interpreter_file *file)
{
	free(file);
}

static int attach(const struct interpreter_file *probed, const struct interpreter_target *target,
		  struct interpreter_process **process)
{
	_cleanup_(free_pointer) struct java_attached *made = calloc(1, sizeof(*made));
	const struct java_file *file = (const struct java_file *)probed;
	struct java_process data;
	int err;

	if (!made)
		return -ENOMEM;
	err = java_layout_read(&file->symbols, target->bias, target->memory, &made->layout);
	if (!err)
		err = java_attach_read(&made->layout, target->memory, &made->heaps, &data);
	if (!err)
		err = java_stubs_read(&made->layout, &made->heaps, &file->data, target, &data,
				      &made->data, &made->process.data_bytes);
	if (err)
		return err;
	made->process.interpreter = &java_interpreter;
	made->process.data = made->data;
	/* Compilers make their stubs in threads of their own. */
	made->process.may_grow = true;
	*process = &take_pointer(made)->process;
	return 0;
}

/* The frame is of @method if that has fingerprint @fingerprint. */
static int check_method(const struct java_layout *layout, struct remote_memory *memory,
			uint64_t method, uint32_t fingerprint)
{
	uint64_t const_method = 0, constants = 0, word = 0;
	int err = java_field_read(memory, method, layout->method_const_method, &const_method);

	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_constants,
				      &constants);
	if (!err)
		err = remote_memory_read(memory,
					 const_method + layout->const_method_code_size.offset,
					 &word, sizeof(word));
	if (!err && java_fingerprint(constants, java_method_word(word)) != fingerprint)
		err = fail(-ESTALE, "another method");
	return err;
}

/* The same for the nmethod at @address; *@method gets its Method. */
static int check_nmethod(const struct java_attached *attached, struct remote_memory *memory,
			 uint64_t address, uint32_t fingerprint, uint64_t *method)
{
	struct java_blob blob = { .address = address };
	struct java_nmethod nmethod;
	int err = java_nmethod_read(&attached->layout, memory, &blob, &nmethod);

	if (!err && java_fingerprint(nmethod.method, nmethod.compile_id) != fingerprint)
		err = fail(-ESTALE, "other code");
	if (!err)
		*method = nmethod.method;
	return err;
}

/* Where in its bytecodes the method is that was compiled; 0 where the debug information does not say. */
static uint32_t compiled_bci(const struct java_attached *attached, struct remote_memory *memory,
			     uint64_t address, uint32_t place)
{
	struct java_scopes scopes;
	struct java_blob blob;
	int32_t bci = 0;

	if (!java_blob_find_at(&attached->layout, memory, address, &blob) &&
	    !java_scopes_read(&attached->layout, memory, &blob, place, &scopes))
		bci = scopes.scopes[scopes.count - 1].bci;
	return bci > 0 ? (uint32_t)bci : 0;
}

static int check(const struct java_attached *attached, struct remote_memory *memory,
		 const uint64_t words[2], uint64_t *method)
{
	uint32_t fingerprint = (uint32_t)words[1];

	*method = frame_address(words[0]);
	if (words[1] >> 32 & JAVA_COMPILED)
		return check_nmethod(attached, memory, *method, fingerprint, method);
	return check_method(&attached->layout, memory, *method, fingerprint);
}

static int name_stub(struct java_attached *attached, struct remote_memory *memory,
		     const uint64_t words[2], struct interpreted_frame *frame)
{
	uint64_t behind = frame_flags(words[0]) & FRAME_RETURN_ADDRESS;
	int err = java_stub_name(&attached->layout, &attached->heaps, memory,
				 frame_address(words[0]) - behind, attached->name);

	if (!err)
		*frame = (struct interpreted_frame){ .function = attached->name };
	return err;
}

static int symbolize(struct interpreter_process *process, struct remote_memory *memory,
		     const uint64_t words[2], uint32_t *object, struct interpreted_frame *frame)
{
	struct java_attached *attached = (struct java_attached *)process;
	const struct java_layout *layout = &attached->layout;
	uint32_t position = words[1] >> 32, bci = position, line = 0;
	uint64_t method, again;
	bool has_source;
	int err;

	if (position == JAVA_STUB)
		return name_stub(attached, memory, words, frame);
	err = check(attached, memory, words, &method);

	(void)object;
	if (!err)
		err = java_method_name(layout, memory, method, false, attached->name);
	if (err)
		return err;
	if (position & JAVA_COMPILED)
		bci = compiled_bci(attached, memory, frame_address(words[0]),
				   position & ~JAVA_COMPILED);
	if (bci == JAVA_NO_BCI || java_line_of(layout, memory, method, bci, &line))
		line = 0;
	has_source = !java_source_file(layout, memory, method, attached->source);
	/* What was read meanwhile may have been freed. */
	err = check(attached, memory, words, &again);
	if (!err && again != method)
		err = fail(-ESTALE, "other code");
	if (err)
		return err;
	*frame = (struct interpreted_frame){
		.function = attached->name,
		.file = has_source ? attached->source : NULL,
		.line = line,
	};
	return 0;
}

static void detach(struct interpreter_process *process)
{
	struct java_attached *attached = (struct java_attached *)process;

	if (attached)
		free(attached->data);
	free(attached);
}

static const struct interpreter_ops ops = {
	.probe = probe,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct interpreter java_interpreter = {
	.name = "java",
	.kind = FRAME_JAVA,
	.ops = &ops,
};
