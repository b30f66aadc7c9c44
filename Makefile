# SPDX-License-Identifier: Apache-2.0
# The one Makefile. Sources are found by folder: a new .c file, test (FOLDER/tests/NAME_test.c),
# fuzz target (FOLDER/fuzz/NAME_fuzz.c) or tool (FOLDER/tools/NAME.c) needs no change here.
#
# Every folder becomes a static library, and its tests link only what the folder may include, so
# that a broken boundary does not link. The same sources are built in variants:
#   build/obj   what users run        build/asan   for tests, with ASan and UBSan
#   build/fuzz  for libFuzzer, by clang        build/debug  for debuggers: -O0, ASan and UBSan
#   build/tsan  for a test, with ThreadSanitizer
#   build/arm64 for arm64 by a cross compiler: tools that run under qemu-user
#
# Programs: build/agent, build/TOOL, build/asan/FOLDER/tests/NAME_test (links to one program for each
# folder), build/fuzz/FOLDER/fuzz/NAME_fuzz.
#
# What people call stands at the end. Objects are built again when a file they include changes, or
# the flags or the version they are built with.

ifneq ($(V),1)
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

PREFIX ?= /usr/local
CC := gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PROTOC_C ?= protoc-c
ARCH := $(shell uname -m)
BPF_ARCH := $(if $(filter aarch64,$(ARCH)),arm64,x86)

# The version is a tag, or what has been committed since. A source archive of `make dist` has it in a file.
VERSION := $(or $(shell cat VERSION 2>/dev/null),$(shell git describe --tags --always --dirty 2>/dev/null),unknown)

WARNINGS := -Wall -Wextra -Werror -Wmissing-prototypes -Wvla
CPPFLAGS_ALL := -D_GNU_SOURCE -I. -Ibuild
CFLAGS ?= -O2 -g
CFLAGS_ALL := -std=gnu11 $(WARNINGS) -fno-omit-frame-pointer -pthread

# Faults are harder to use with these; scripts/check_hardening.py looks whether the agent has it.
HARDENING := -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
HARDENING_x86_64 := -fcf-protection
HARDENING_aarch64 := -mbranch-protection=standard
LDFLAGS_HARDENED := -pie -Wl,-z,relro,-z,now,-z,noexecstack

# -ffile-prefix-map=DIRECTORY=. for a build whose bytes do not depend on where it was made.
PREFIX_MAP ?=
FLAGS_obj := $(CFLAGS) $(PREFIX_MAP) -fPIE $(HARDENING) $(HARDENING_$(ARCH))
# -O0: compiling takes longer than running.
FLAGS_asan := -O0 -g -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_fuzz := -O0 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
	-fprofile-instr-generate -fcoverage-mapping
# For programs that are linked often and are not given away.
FAST_LINKER := $(if $(shell command -v ld.lld),-fuse-ld=lld)
FLAGS_debug := -O0 -g3 -fsanitize=address,undefined
FLAGS_tsan := -O1 -g -fsanitize=thread
# Packages of arm64, unpacked; of their own architecture the cross compiler has only the C library.
ARM64_LIBRARIES := $(HOME)/.cache/allframes/arm64-libraries
ARM64_PACKAGES := libssl-dev libxxhash-dev liblzma-dev libzstd-dev libdeflate-dev zlib1g-dev libelf-dev \
	libdw-dev libiberty-dev libprotobuf-c-dev libbpf-dev
# Has the number of them in its name, so that an older cache gets the rest.
ARM64_FETCHED := $(ARM64_LIBRARIES)/.fetched-$(words $(ARM64_PACKAGES))
# Its own kernel programs go before those of this machine; of gRPC there are only headers, this machine's.
ARM64_SKELETON := build/arm64/include/build/ebpf/allframes.skel.h build/arm64/include/build/ebpf/costs.skel.h
# -O1: tests compile it, and run it for seconds. The warning is the business of -O2, as in build/obj.
FLAGS_arm64 := -O1 -Wno-maybe-uninitialized -iquote build/arm64/include -idirafter /usr/include $(foreach p,$(ARM64_PACKAGES),-isystem $(ARM64_LIBRARIES)/$(p)/usr/include \
	-isystem $(ARM64_LIBRARIES)/$(p)/usr/include/aarch64-linux-gnu)
# libcrypto.a warns of what it could load; nothing of that is used.
LDFLAGS_arm64 := -static -Wl,--no-warnings $(ARM64_PACKAGES:%=-L$(ARM64_LIBRARIES)/%/usr/lib/aarch64-linux-gnu)
# The tests of a folder are one program (scripts/unit_tests.c), and $* is the path of one of them.
FLAGS_of_test = -Dmain=$(notdir $*)_test_main -Wno-missing-prototypes
CC_obj := $(CC)
CC_asan := $(CC)
CC_fuzz := $(CLANG)
CC_debug := $(CC)
CC_tsan := $(CC)
CC_arm64 := aarch64-linux-gnu-gcc
VARIANTS := obj asan fuzz debug tsan arm64

# Folder of each library with its subfolders (the groups of CONTRIBUTING.md), and what it may use, in link order.
LIBRARIES := lib proto emulation stackdeltas interpreters symbols reporter viewer tracing runtimes processes unwind agent collector
dir_lib := lib
dir_proto := build/proto
dir_emulation := ebpf/host
dir_stackdeltas := stackdeltas
dir_interpreters := interpreters
dir_symbols := symbols
dir_reporter := reporter
dir_viewer := viewer
dir_tracing := agent/tracing
dir_runtimes := agent/runtimes
dir_processes := agent/processes
dir_unwind := agent/unwind
dir_agent := agent
dir_collector := integration/collector
uses_lib := lib
uses_proto := proto
uses_emulation := emulation lib
uses_stackdeltas := stackdeltas lib
uses_interpreters := interpreters lib
uses_symbols := symbols interpreters lib
uses_reporter := reporter proto lib
uses_viewer := viewer reporter proto lib
uses_tracing := tracing lib
uses_runtimes := runtimes stackdeltas interpreters symbols lib
uses_processes := processes runtimes stackdeltas interpreters symbols reporter proto lib
uses_unwind := unwind processes runtimes stackdeltas interpreters symbols emulation lib
uses_agent := agent unwind processes runtimes stackdeltas interpreters symbols viewer reporter tracing emulation proto lib
uses_collector := collector lib

# Each program is linked with those of them that it uses: gRPC's come with the collector's transport.
LDLIBS_ALL := -Wl,--as-needed -lbpf -lcrypto -lxxhash -lprotobuf-c -lgrpc -lgpr -lmicrohttpd -ljansson -lncursesw -ltinfo -liberty -ldw -lelf -llzma -lzstd -ldeflate -lz -lm

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

all: build/agent build/collector tools

# Recipe of a file that holds the text $(1): it is written, and so newer, only when that changes.
define keep
@mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@
endef

# The same of a list of lines.
define keep_lines
@mkdir -p $(@D); printf '%s\n' $(1) | cmp -s - $@ || printf '%s\n' $(1) > $@
endef

# --- generated sources ---
PROTOS := $(wildcard proto/*.proto)
PROTO_SOURCES := $(PROTOS:proto/%.proto=build/proto/%.pb-c.c)
PROTO_HEADERS := $(PROTO_SOURCES:.c=.h)

build/proto/%.pb-c.c build/proto/%.pb-c.h: proto/%.proto
	$(call say,PROTOC,$<)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) --proto_path=proto --c_out=build/proto $<

# The kernel side of each language (ebpf/abi/languages.h, whose rows are read here) is in a folder of its own, and is
# included by files with a line for each. NAME_labels.bpf.h need not be there: then there are none.
LANGUAGES := $(shell sed -n 's/^\tX.[0-9]*, [A-Z0-9_]*, \([a-z0-9_]*\),.*/\1/p' ebpf/abi/languages.h)
# The entry program of each origin of samples (ebpf/abi/origins.h).
ORIGIN_ENTRIES := $(shell sed -n 's/^\tX.[A-Z0-9_]*, [a-z0-9_]*, [A-Z_]*, \([a-z0-9_]*\), [A-Z]*,.*/\1/p' ebpf/abi/origins.h)
LISTED_INCLUDES := $(addprefix build/ebpf/,language_labels.h language_programs.h language_states.h language_steps.h origin_programs.h)

build/ebpf/language_programs.h: FORCE
	$(call keep_lines,$(foreach l,$(LANGUAGES),'#include "ebpf/$(l)/$(l)_unwind.bpf.c"'))
build/ebpf/language_states.h: FORCE
	$(call keep_lines,$(foreach l,$(LANGUAGES),'#include "ebpf/$(l)/$(l)_state.bpf.h"'))
build/ebpf/language_labels.h: FORCE
	$(call keep_lines,$(foreach l,$(LANGUAGES),$(if $(wildcard ebpf/$(l)/$(l)_labels.bpf.h),'#include "ebpf/$(l)/$(l)_labels.bpf.h"','#define $(l)_add_labels(state) ((void)(state))')))
build/ebpf/language_steps.h: FORCE
	$(call keep_lines,$(foreach l,$(LANGUAGES),'#include "ebpf/$(l)/$(l)_step.bpf.h"'))

build/ebpf/origin_programs.h: FORCE
	$(call keep_lines,$(foreach e,$(ORIGIN_ENTRIES),'#include "ebpf/$(e).bpf.c"'))

BPF_SOURCES := $(wildcard ebpf/*.bpf.c ebpf/*.bpf.h ebpf/*/*.bpf.c ebpf/*/*.bpf.h ebpf/abi/*.h) $(LISTED_INCLUDES)
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -I. \
	-I/usr/include/$(ARCH)-linux-gnu -D__TARGET_ARCH_$(BPF_ARCH) $(PREFIX_MAP)

# The kernel programs are two objects: ebpf/allframes.bpf.c, which includes those that sample, and ebpf/costs/costs.bpf.c
# for -accounting. Those of arm64 are also for a test, which shows them to this kernel's verifier.
BPF_OBJECTS := allframes costs
bpf_source = $(if $(filter costs%,$(1)),ebpf/costs/costs.bpf.c,ebpf/allframes.bpf.c)
$(BPF_OBJECTS:%=build/ebpf/%.bpf.o): bpf_flags := $(BPF_CFLAGS)
$(BPF_OBJECTS:%=build/ebpf/%_arm64.bpf.o): bpf_flags := $(filter-out -D__TARGET_ARCH_%,$(BPF_CFLAGS)) -D__TARGET_ARCH_arm64
build/ebpf/%.bpf.o: $(BPF_SOURCES)
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(bpf_flags) -c $(call bpf_source,$*) -o $@.tmp
	$(Q)llvm-strip -g $@.tmp && mv $@.tmp $@

build/ebpf/%.skel.h: build/ebpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $* > $@.tmp && mv $@.tmp $@

build/arm64/include/build/ebpf/%.skel.h: build/ebpf/%_arm64.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $* > $@.tmp && mv $@.tmp $@

build/version.h: FORCE
	$(call keep,#define AGENT_VERSION "$(VERSION)")

# Names of system calls by their numbers, which are those of the machine that the file is compiled for.
build/system_calls.h:
	$(call say,CALLS,$@)
	@mkdir -p $(@D)
	$(Q)echo '#include <sys/syscall.h>' | $(CC) -E -dM - | sed -n 's/^#define SYS_\([a-z0-9_]*\) .*/\1/p' | sort | \
		sed 's/.*/#ifdef SYS_&\n[SYS_&] = "&",\n#endif/' >$@.tmp && mv $@.tmp $@

# Order-only: the first build needs them before any object, later ones know by -MMD who includes them.
GENERATED := $(PROTO_HEADERS) $(LISTED_INCLUDES) build/version.h build/system_calls.h
SKELETON := $(BPF_OBJECTS:%=build/ebpf/%.skel.h)
USES_SKELETON := $(wildcard agent/tracing/*.c agent/tracing/*/*.c)

# --- libraries ---
# A library has the sources of its folder and of the folders in it, other than those that are libraries themselves.
subfolders = $(patsubst %/,%,$(wildcard $(1)/*/))
folders_of = $(dir_$(1)) $(filter-out %/tests %/fuzz %/tools %/assets %/page %/node_modules $(foreach l,$(LIBRARIES),$(dir_$(l))), \
	$(call subfolders,$(dir_$(1))))
sources_of = $(filter-out %/main.c,$(foreach d,$(folders_of),$(wildcard $(d)/*.c))) \
	$(if $(filter proto,$(1)),$(PROTO_SOURCES))

# The sources that programs need, by their includes. Fuzzers need about half of what their libraries have.
needed_sources = $(shell ! command -v python3 >/dev/null || scripts/needed_sources.py $(1))
FUZZ_SOURCES := $(call needed_sources,$(foreach l,$(LIBRARIES),$(foreach d,$(call folders_of,$(l)),$(wildcard $(d)/fuzz/*_fuzz.c))))
built_sources = $(if $(filter fuzz,$(1)),$(filter $(FUZZ_SOURCES) build/proto/%,$($(2)_sources)),$($(2)_sources))

define library_rules # variant, library
$(2)_sources := $$(sort $$(call sources_of,$(2)))
build/$(1)/lib$(2).sources: FORCE
	$$(call keep,$$(call built_sources,$(1),$(2)))
build/$(1)/lib$(2).a: $$(patsubst %.c,build/$(1)/%.o,$$(call built_sources,$(1),$(2))) build/$(1)/lib$(2).sources
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@.tmp && ar rcs $$@.tmp $$(filter %.o,$$^) && mv $$@.tmp $$@
endef

define variant_rules # variant
build/$(1)/flags: FORCE
	$$(call keep,$$(CC_$(1)) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) $$(FLAGS_$(1)) $$(FLAGS_of_test))
build/$(1)/%.o: %.c build/$(1)/flags | $$(GENERATED)
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) $$(FLAGS_$(1)) -MMD -MP -c $$< -o $$@
build/$(1)/%_test.o: %_test.c build/$(1)/flags | $$(GENERATED)
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) $$(FLAGS_$(1)) $$(FLAGS_of_test) -MMD -MP -c $$< -o $$@
$$(USES_SKELETON:%.c=build/$(1)/%.o): | $$(SKELETON)
build/$(1)/agent/tracing/tests/verifier_test.o: | $$(SKELETON) build/ebpf/allframes_arm64.skel.h
build/$(1)/viewer/flame_page.o: viewer/assets/export.html
build/$(1)/viewer/flame_svg.o: viewer/flame_svg.js
build/$(1)/viewer/assets.o: $$(wildcard viewer/assets/*)
build/$(1)/build/proto/%.o: build/proto/%.c build/$(1)/flags | $$(PROTO_HEADERS)
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC_$(1)) -Ibuild/proto -O2 -g $$(FLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef

$(foreach v,$(VARIANTS),$(eval $(call variant_rules,$(v))))
$(USES_SKELETON:%.c=build/arm64/%.o): | $(ARM64_SKELETON)
$(foreach v,$(VARIANTS),$(foreach l,$(LIBRARIES),$(eval $(call library_rules,$(v),$(l)))))

archives = $(foreach l,$(uses_$(2)),build/$(1)/lib$(l).a)

# --- programs ---
build/agent: build/obj/agent/main.o $(call archives,obj,agent)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(LDFLAGS_HARDENED) -o $@ $^ $(LDLIBS_ALL)

build/agent-debug: build/debug/agent/main.o $(call archives,debug,agent)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(FLAGS_debug) -o $@ $^ $(LDLIBS_ALL)

build/agent-tsan: build/tsan/agent/main.o $(call archives,tsan,agent)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(FLAGS_tsan) -o $@ $^ $(LDLIBS_ALL)

# Checks what an agent sends, by code of its own.
build/collector: build/obj/integration/collector/main.o $(call archives,obj,collector)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -o $@ $^ -lgrpc -lgpr -lxxhash -lz

define folder_tools # library, folder
$(2)_tools := $$(patsubst $(2)/tools/%.c,build/%,$$(wildcard $(2)/tools/*.c))
$$($(2)_tools): build/%: build/obj/$(2)/tools/%.o $$(call archives,obj,$(1))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS_ALL) $$(CFLAGS) -o $$@ $$^ $$(LDLIBS_ALL)
TOOLS += $$($(2)_tools)
endef

define folder_programs # library
$$(foreach d,$$(call folders_of,$(1)),$$(eval $$(call folder_tools,$(1),$$(d))))

$(1)_fuzzers := $$(patsubst %.c,build/fuzz/%,$$(foreach d,$$(call folders_of,$(1)),$$(wildcard $$(d)/fuzz/*_fuzz.c)))
$$($(1)_fuzzers): %: %.o $$(call archives,fuzz,$(1))
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) $$(FLAGS_fuzz) $$(FAST_LINKER) -fsanitize=fuzzer -o $$@ $$^ $$(LDLIBS_ALL)
FUZZERS += $$($(1)_fuzzers)
endef

$(foreach l,$(filter-out proto,$(LIBRARIES)),$(eval $(call folder_programs,$(l))))

# One binary for all tests of a folder, which scripts/unit_tests.c begins.
define unit_tests # library, folder
$(2)_tests := $$(basename $$(notdir $$(wildcard $(2)/tests/*_test.c)))
build/asan/$(2)/tests/unit_tests.names: FORCE
	$$(call keep,$$($(2)_tests))
build/asan/$(2)/tests/unit_tests.o: scripts/unit_tests.c build/asan/$(2)/tests/unit_tests.names
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_ALL) $$(FLAGS_asan) '-DUNIT_TESTS=$$(patsubst %,X(%),$$($(2)_tests))' -c $$< -o $$@
build/asan/$(2)/tests/unit_tests: build/asan/$(2)/tests/unit_tests.o \
		$$($(2)_tests:%=build/asan/$(2)/tests/%.o) $$(call archives,asan,$(1))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS_ALL) $$(FLAGS_asan) -o $$@ $$^ -lcmocka $$(LDLIBS_ALL)
$$($(2)_tests:%=build/asan/$(2)/tests/%): build/asan/$(2)/tests/unit_tests
	$$(Q)ln -sf unit_tests $$@
UNIT_TESTS += $$($(2)_tests:%=build/asan/$(2)/tests/%)
endef

$(foreach l,$(filter-out proto,$(LIBRARIES)),$(foreach d,$(call folders_of,$(l)),$(eval $(call unit_tests,$(l),$(d)))))

# walk_core with the unwinder of arm64: to run on this machine, and on arm64.
build/obj/arm64/emulated_unwind.o: ebpf/host/emulated_unwind.c build/obj/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(CFLAGS) -D__TARGET_ARCH_arm64 -MMD -MP -c $< -o $@

build/walk_core_arm64: build/obj/arm64/emulated_unwind.o build/obj/agent/unwind/tools/walk_core.o \
		$(call archives,obj,unwind)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -o $@ $^ $(LDLIBS_ALL)
TOOLS += build/walk_core_arm64

$(ARM64_FETCHED):
	$(call say,FETCH,$(@D))
	$(Q)scripts/fetch_packages.py $(@D) arm64 bookworm $(ARM64_PACKAGES) >/dev/null
	$(Q)touch $@

build/arm64/flags: | $(ARM64_FETCHED)

# Only what it needs: its libraries have more than twice as much, and all tests wait for their build.
WALK_CORE_SOURCES := $(call needed_sources,agent/unwind/tools/walk_core.c $(foreach l,$(LANGUAGES),interpreters/$(l)/$(l).c))
build/arm64/walk_core: $(WALK_CORE_SOURCES:%.c=build/arm64/%.o)
	$(call say,LD,$@)
	$(Q)$(CC_arm64) $(CFLAGS_ALL) $(LDFLAGS_arm64) -o $@ $^ -lcrypto -lxxhash -liberty -llzma -lzstd -ldeflate -lz

# For tests in virtual machines of arm64. It cannot send: nothing of gRPC is linked in.
build/agent_arm64: build/arm64/agent/main.o $(call archives,arm64,agent)
	$(call say,LD,$@)
	$(Q)$(CC_arm64) $(CFLAGS_ALL) $(LDFLAGS_arm64) -Wl,--unresolved-symbols=ignore-all -o $@ $^ -lbpf -lcrypto -lxxhash -lprotobuf-c -liberty \
		-ldw -lelf -llzma -lzstd -ldeflate -lz -lm

# Programs that tests run under qemu-user: where there is no apt-get, its libraries cannot be fetched.
ARM64_PROGRAMS := $(if $(shell command -v apt-get),build/arm64/walk_core)
ARM64_AGENT := $(if $(ARM64_PROGRAMS),build/agent_arm64)

tools: $(TOOLS)
unit-tests: $(UNIT_TESTS)
fuzzers: $(FUZZERS)
generated: $(GENERATED) $(SKELETON)

# --- what people call ---
# These set up first, and then build by a make of their own: side by side, and after the set-up.
JOBS ?= $(shell nproc)
build = +$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

run:
	$(Q)scripts/setup.sh build
	$(build) build/agent
	$(Q)scripts/run.sh

# All of the short tier, or those with T in their path.
T ?=
test:
	$(Q)scripts/setup.sh build test fuzz
	$(Q)scripts/fetch_gos.py --short
	$(Q)scripts/fetch_nodes.py --short
	$(Q)scripts/fetch_npm_packages.py
	$(Q)scripts/fetch_rubies.py --short
	$(Q)scripts/fetch_phps.py --short
	$(Q)scripts/fetch_perls.py --short
	$(build) all unit-tests fuzzers $(ARM64_PROGRAMS)
	$(Q)scripts/run_tests.py --only '$(T)' $(UNIT_TESTS)

# The one test, or fuzzer, of the name T.
test-one:
	$(Q)scripts/setup.sh build test fuzz
	$(build) all unit-tests $(if $(filter %_fuzz fuzzers fuzzers_test%,$(T)),fuzzers) $(ARM64_PROGRAMS)
	$(Q)scripts/run_tests.py --one '$(T)' $(UNIT_TESTS)

# The parts of the long tier that have not passed for this tree, or the one of the name PART.
PART ?=
test-long:
	$(Q)scripts/setup.sh build test long fuzz page
	$(Q)$(if $(shell command -v apt-get),scripts/fetch_javas.py >/dev/null)
	$(Q)scripts/fetch_java_languages.py >/dev/null
	$(Q)$(if $(shell command -v apt-get),scripts/fetch_perls.py >/dev/null)
	$(Q)$(if $(shell command -v apt-get),scripts/fetch_phps.py >/dev/null)
	$(build) all unit-tests fuzzers $(ARM64_PROGRAMS) $(ARM64_AGENT)
	$(Q)scripts/run_tests.py --long --part '$(PART)' $(UNIT_TESTS)

check:
	$(Q)scripts/setup.sh build check
	$(build) generated build/agent
	$(Q)BPF_CFLAGS='$(BPF_CFLAGS)' CPPFLAGS='$(CPPFLAGS_ALL)' CLANG='$(CLANG)' scripts/check.sh

format:
	$(Q)git ls-files -z '*.c' '*.h' | xargs -0 clang-format -i

bench:
	$(Q)scripts/setup.sh build test
	$(build) all
	$(Q)bench/run.py

FUZZ_SECONDS ?= 600
fuzz:
	$(Q)scripts/setup.sh build fuzz
	$(build) fuzzers
	$(Q)scripts/run_fuzzers.py --seconds $(FUZZ_SECONDS) $(FUZZERS)

# All fuzzers for so many hours of CPU time together, in as many runs as it takes.
FUZZ_HOURS ?= 8
FUZZ_FOLDER ?= $(HOME)/.cache/allframes/fuzz
fuzz-long:
	$(Q)scripts/setup.sh build fuzz
	$(build) fuzzers
	$(Q)scripts/fuzz_long.py --hours $(FUZZ_HOURS) --folder $(FUZZ_FOLDER) $(FUZZERS)

# An agent for a debugger, with sanitizers.
debug:
	$(Q)scripts/setup.sh build
	$(build) build/agent-debug

# The viewer's page from its sources. What comes of it is committed: C alone builds the agent.
page:
	$(Q)scripts/setup.sh page
	$(Q)scripts/build_page.sh viewer/assets

# The documents that are made of sources. What comes of it is committed.
docs:
	$(Q)scripts/setup.sh build
	$(build) build/options_markdown
	$(Q)build/options_markdown >build/options.md && cp build/options.md docs/options.md

legal: build/agent
	$(Q)scripts/legal.sh build/agent

# The manual page and the completions for shells are made of the table of options. Scripts may know the agent by its other name.
SHARE = $(DESTDIR)$(PREFIX)/share
install: build/agent build/options_manual build/options_completion
	install -D -m 755 build/agent $(DESTDIR)$(PREFIX)/bin/allframes
	ln -sf allframes $(DESTDIR)$(PREFIX)/bin/allframes-agent
	build/options_manual >build/allframes.1
	build/options_completion bash >build/allframes.bash
	build/options_completion zsh >build/allframes.zsh
	build/options_completion fish >build/allframes.fish
	install -D -m 644 build/allframes.1 $(SHARE)/man/man1/allframes.1
	ln -sf allframes.1 $(SHARE)/man/man1/allframes-agent.1
	install -D -m 644 build/allframes.bash $(SHARE)/bash-completion/completions/allframes
	ln -sf allframes $(SHARE)/bash-completion/completions/allframes-agent
	install -D -m 644 build/allframes.zsh $(SHARE)/zsh/site-functions/_allframes
	install -D -m 644 build/allframes.fish $(SHARE)/fish/vendor_completions.d/allframes.fish
	install -D -m 644 LICENSE $(SHARE)/doc/allframes/LICENSE
	install -D -m 644 viewer/assets/LICENSES.txt $(SHARE)/doc/allframes/LICENSES-page.txt
	install -D -m 644 README.md $(SHARE)/doc/allframes/README.md
	install -D -m 644 -t $(SHARE)/doc/allframes/docs docs/*.md docs/*.png

# A release of the commit that is checked out: source, a stripped build, an SBOM and checksums.
dist:
	$(Q)scripts/setup.sh build
	$(Q)scripts/dist.py build/dist

clean:
	rm -rf build

FORCE:
.PHONY: all tools unit-tests fuzzers generated run test test-one test-long check format bench fuzz fuzz-long debug \
	page docs legal install dist clean FORCE

-include $(shell find build -path build/integration -prune -o -name '*.d' -type f -print 2>/dev/null)
