# simrun: verified differentiable message passing
#
#   make            build/simrun and the libraries beside it
#   make demo       install what is missing, build, run good and bad scenarios, write a report
#   make test       the whole test-suite (TAP, prove);  make test-peers compares with Open MPI and MPICH
#   make mutate     change the sources in small ways and print what no test notices; SAMPLE=200 ONLY=sim/messages
#   make coverage   lines and branches that the tests execute, room by room
#   make gradients  random differentiable programs, right and wrong; SIMRUN_SOAK=12500 of each category is a soak
#   make windows    10,000 pairs of accesses to windows against brute force over all interleavings; CASES=500 FIRST=0
#   make local      every operation under way x every way of touching its buffers, and sides that differ: 1,400 programs
#   make spec-soak  a million random programs against the rules of matching
#   make soak       200,000 runs with random choices against random programs that were proven; PROGRAMS=2500 RUNS=200 of each
#   make hostile    programs that misbehave x executors: codes, exit, kept or not, a table; then random writes; ONLY=word RANKS=64 WRITES=100
#   make cores      every scenario gives the same answer on any number of cores
#   make fuzz       the readers of files against hostile input; FUZZ_SECONDS=60 for each
#   make apps       other people's programs, unedited, under simrun and under Open MPI or MPICH: a table; APPS="hpcc ring_c"
#   make bare       demo and test on a Debian with nothing but make and git, in a path with blanks; needs root and debootstrap; SUITE=noble
#   make bench      figures against Open MPI and MPICH, as ratios in one run; BENCH="200 million" for 2^20 ranks, too
#   make functions  every call of the standard, right and with one wrong argument at a time;  make mpich  MPICH's own tests
#   make mbi        the 1,800 programs of the MPI Bugs Initiative, each with one known error or none: a table; ONLY=MessageRace
#   make rooms      the rooms of the house: files, lines, what each sees
#   make changes    every row of "to change X, open Y" (docs/architecture.md) tried in a copy of the tree; ONLY="colours"; some minutes
#   make format     rewrite the sources in house style;  make format-check only looks
#   make install    PREFIX=/usr/local DESTDIR=
#   make clean
#
# Settings: CC=gcc|clang  SAN=address,undefined | SAN=thread  WERROR=1  V=1

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
VERSION := 0.1.0
PREFIX  ?= /usr/local
SAN     ?=
WERROR  ?=
empty   :=
comma   := ,
variant := $(notdir $(firstword $(CC)))$(if $(SAN),-$(subst $(comma),-,$(SAN)))
# The plain gcc build is the one people use; every other variant has a folder of its own.
BUILD   := $(if $(filter gcc,$(variant)),build,build/$(variant))

halls    := traces recorder sim collectives checker viz verdict cli
packages := sqlite3 libdw libelf libzstd

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Wundef -Wcast-qual -Wwrite-strings -Wpointer-arith -Wformat=2 $(if $(WERROR),-Werror)
# A sanitizer's code is optimised by half: it compiles in half the time, runs about as fast, and has every frame a report names.
CFLAGS   ?= $(if $(SAN),-O1 -g1,-O2 -g)
# Where gcc would clear or copy a small struct with `rep stos`, which starts slowly, let it use plain stores.
inline_stores := -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign -mmemcpy-strategy=vector_loop:512:noalign,libcall:-1:noalign
TUNING   := $(shell $(CC) $(inline_stores) -x c -c -o /dev/null /dev/null 2>/dev/null && echo '$(inline_stores)')
ALLFLAGS := $(TUNING) -DSIMRUN_VERSION=\"$(VERSION)\" -std=c17 -D_GNU_SOURCE $(CFLAGS) -ffp-contract=off -fexceptions -fno-semantic-interposition -fno-omit-frame-pointer \
            -fopenmp -pthread -fPIC $(WARNINGS) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=undefined -fno-sanitize=null)
INCLUDES := -I. -Isim -Icollectives $(addprefix -I,$(wildcard collectives/systems/*/)) -I$(BUILD)/gen $(shell pkg-config --cflags $(packages) 2>/dev/null)
LIBS     := $(shell pkg-config --libs $(packages) 2>/dev/null) -ldl -lm -lrt

files     = $(foreach f,$1,$(wildcard $f/*.$2 $f/*/*.$2 $f/*/*/*.$2))
# The functions that instrumented programs call are ThreadSanitizer's own where it is linked.
callbacks := $(addprefix sim/memory/,accesses.c atomics.c libc.c strings.c formats.c)
sources  := $(filter-out sim/interface/libmpi_abi.c sim/shims/% sim/fortran/% $(if $(filter thread,$(SAN)),$(callbacks)),$(call files,$(halls),c))
objects  := $(sources:%.c=$(BUILD)/obj/%.o)
library  := $(filter-out $(BUILD)/obj/cli/main.o,$(objects))
tests    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*/test_*.c))
headers  := $(call files,$(halls) tests,h)
Q        := $(if $(V),,@)

stub     := $(BUILD)/lib/libmpi_abi.so.1

# What programs under test are compiled with: these headers and nothing else of ours, and a compiler wrapper.
# A system under collectives/systems/ has the header named after its folder; the functions it declares are exported.
systems  := $(foreach d,$(wildcard collectives/systems/*/),$(wildcard $d$(notdir $(d:/=)).h))
public_headers := sim/mpi.h sim/mpi-ext.h sim/mpix.h sim/words.h collectives/diff.h collectives/diff_tool.h $(systems)
tool_headers := collectives/diff_tool.hpp collectives/diff_adolc.hpp collectives/diff_rad.hpp
# The same for every variant, and in one place: what one compiles with them, simrun's cache has for the others.
include  := $(if $(filter build/%,$(BUILD)),build,$(BUILD))/include/simrun
public   := $(addprefix $(include)/,$(notdir $(public_headers) $(tool_headers)))
wrappers := $(addprefix $(BUILD)/,simcc simc++ simfort)
start    := $(BUILD)/lib/simrun_start.o
shims    := $(addprefix $(BUILD)/lib/shims/,libmpi.so.40 libmpi_mpifh.so.40 libmpich.so.12)
fortran  := $(BUILD)/lib/libsimrun_fortran.so.1 $(addprefix $(include)/,mpif.h mpi.f90 mpi_f08.f90)
# A plugin of gcc's for programs under test, where its headers and g++ are installed.
gcc_headers := $(wildcard $(shell gcc -print-file-name=plugin 2>/dev/null)/include/gcc-plugin.h)
loops    := $(if $(and $(gcc_headers),$(shell command -v g++)),$(BUILD)/lib/loops-$(shell gcc -dumpfullversion).so)
tools    := $(stub) $(start) $(public) $(wrappers) $(shims) $(fortran) $(loops)

all: $(BUILD)/simrun $(tools)

exports  := sim/exports.list $(BUILD)/gen/systems.list
$(BUILD)/simrun: $(objects) $(exports)
	@echo "link $@"
	$Q$(CC) $(ALLFLAGS) $(exports:%=-Wl,--dynamic-list=%) -o $@ $(objects) $(LIBS)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "cc   $<"
	$Q$(CC) $(ALLFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<

$(BUILD)/obj/traces/store/schema.o: $(wildcard traces/store/*.sql)

$(BUILD)/libsimrun.a: $(library)
	@rm -f $@
	$Qar qcs $@ $^

# What programs outside link against: the symbols of the public headers under the soname of the MPI ABI.
$(stub): sim/interface/libmpi_abi.c sim/interface/entry.h sim/functions.h $(BUILD)/gen/extensions.h
	@mkdir -p $(@D)
	@echo "link $@"
	$Q$(CC) -std=c17 -D_GNU_SOURCE -O2 -fPIC $(WARNINGS) $(INCLUDES) -shared -Wl,-soname,$(@F) -o $@ $<
	@ln -sf $(@F) $(@:.1=)

# Stands in for another MPI's library in programs that were built for it.
$(BUILD)/gen/shims/%.c: sim/shims/wrappers.pl sim/shims/prototypes.pl $(wildcard sim/shims/*.tsv) sim/shims/by_hand.c sim/mpi.h
	@mkdir -p $(@D)
	@perl sim/shims/wrappers.pl $* >$@.new && mv $@.new $@
link_shim = $Q$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -fno-omit-frame-pointer $(WARNINGS) $(INCLUDES) -D$1 -shared -Wl,-soname,$(@F) -o $@ $(filter %.c,$^)
shim_parts = sim/shims/by_hand.c $(wildcard sim/shims/*.h)
$(BUILD)/lib/shims/libmpi.so.40: $(BUILD)/gen/shims/openmpi.c sim/shims/cxx.c $(shim_parts)
	@mkdir -p $(@D)
	@echo "link $@"
	$(call link_shim,SHIM_OPENMPI)
# Its library for Fortran, on top of that.
$(BUILD)/gen/shims/openmpi_constants.h: sim/shims/wrappers.pl sim/shims/prototypes.pl sim/shims/values.tsv sim/mpi.h
	@mkdir -p $(@D)
	@perl sim/shims/wrappers.pl openmpi-constants >$@.new && mv $@.new $@
$(BUILD)/gen/shims/openmpi_fortran.c: sim/fortran/bindings.pl sim/shims/prototypes.pl sim/fortran/by_hand.c sim/mpi.h
	@mkdir -p $(@D)
	@$(fortran_bindings) openmpi >$@.new && mv $@.new $@
$(BUILD)/lib/shims/libmpi_mpifh.so.40: $(BUILD)/gen/shims/openmpi_fortran.c sim/fortran/by_hand.c sim/fortran/fortran.h $(BUILD)/gen/shims/openmpi_constants.h $(BUILD)/lib/shims/libmpi.so.40
	@mkdir -p $(@D)
	@echo "link $@"
	$(call link_shim,SHIM_OPENMPI -I$(BUILD)/gen) $(BUILD)/lib/shims/libmpi.so.40 -Wl,-rpath,'$$ORIGIN'
$(BUILD)/lib/shims/libmpich.so.12: $(BUILD)/gen/shims/mpich.c sim/shims/numbers.c sim/shims/above.c $(shim_parts)
	@mkdir -p $(@D)
	@echo "link $@"
	$(call link_shim,SHIM_MPICH)

# Fortran: functions that its compiler calls, and what a program includes or uses. No Fortran compiler is needed to build them.
fortran_bindings = perl sim/fortran/bindings.pl
$(BUILD)/gen/fortran/functions.c: sim/fortran/bindings.pl sim/shims/prototypes.pl sim/fortran/by_hand.c sim/mpi.h
	@mkdir -p $(@D)
	@$(fortran_bindings) functions >$@.new && mv $@.new $@
$(include)/mpif.h: sim/fortran/bindings.pl sim/shims/prototypes.pl sim/mpi.h
	@mkdir -p $(@D)
	@$(fortran_bindings) mpif >$@.new && mv $@.new $@
$(include)/mpi.f90: sim/fortran/bindings.pl sim/shims/prototypes.pl sim/mpi.h
	@mkdir -p $(@D)
	@$(fortran_bindings) module >$@.new && mv $@.new $@
$(include)/mpi_f08.f90: sim/fortran/bindings.pl sim/shims/prototypes.pl sim/mpi.h
	@mkdir -p $(@D)
	@$(fortran_bindings) module08 >$@.new && mv $@.new $@
$(BUILD)/lib/libsimrun_fortran.so.1: $(BUILD)/gen/fortran/functions.c $(wildcard sim/fortran/*.[ch]) $(stub)
	@mkdir -p $(@D)
	@echo "link $@"
	$Q$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -fno-omit-frame-pointer $(WARNINGS) $(INCLUDES) -shared -Wl,-soname,$(@F) -o $@ $< $(wildcard sim/fortran/*.c) -L$(BUILD)/lib -lmpi_abi -Wl,-rpath,'$$ORIGIN'
	@ln -sf $(@F) $(@:.1=)

# As the headers, it is the same for every variant: what it compiled once, it has compiled for all.
$(include:include/simrun=lib)/loops-%.so: sim/compile/loops.cc
	@mkdir -p $(@D)
	@echo "link $@"
	$Qg++ -O1 -g -fPIC -shared -fno-rtti -isystem $(dir $(gcc_headers)) -o $@.new $< && mv $@.new $@ || \
	  { rm -f $@.new; $(if $(WERROR),false,echo "loops of instrumented programs will be slow: this gcc is not known"); }
ifneq ($(include:include/simrun=lib),$(BUILD)/lib)
$(BUILD)/lib/loops-%.so: $(include:include/simrun=lib)/loops-%.so
	@mkdir -p $(@D)
	@test ! -e $< || ln -sfr $< $@
endif

define link_header
$(include)/$(notdir $1): $1
	@mkdir -p $$(@D)
	@ln -sfr $$< $$@
endef
$(foreach header,$(public_headers) $(tool_headers),$(eval $(call link_header,$(header))))
wrapped = $(shell sed -n 's/^$1(\(.*\))$$/\1/p' sim/compile/wrapped.def)
$(wrappers): cli/simcc sim/compile/wrapped.def Makefile
	@mkdir -p $(@D)
	@sed -e 's/@VERSION@/$(VERSION)/' -e 's/@ALWAYS@/$(call wrapped,ALWAYS)/' -e 's/@EXPANDED@/$(call wrapped,EXPANDED)/' -e 's/@CALLED@/$(call wrapped,CALLED)/' -e 's/@FORTRANS@/$(call wrapped,FORTRANS)/' $< >$@
	@chmod 755 $@

# The system's entry into a program, and what lets a shared object be one.
$(start): sim/interface/simrun_start.S
	@mkdir -p $(@D)
	$Q$(CC) -fPIC -nostdlib -r -o $@ $< $$($(CC) -print-file-name=Scrt1.o)

# The functions a public header declares: a line that begins with a type, and the name before its first parenthesis.
declared = sed -n '/^typedef/d; /^static/d; s/^[a-z][^(;={]*[ *]\([A-Za-z]\w*\)(.*/$1/p'
$(BUILD)/gen/extensions.h: $(filter-out sim/mpi.h,$(public_headers)) Makefile
	@mkdir -p $(@D)
	@$(call declared,SIM_EXTENSION(\1)) $(filter %.h,$^) >$@
$(BUILD)/gen/systems.list: $(systems) Makefile
	@mkdir -p $(@D)
	@(echo '{ '; $(call declared,\1;) $(systems) /dev/null; echo 'systems_end; };') >$@

# The standard's values as rows ABI_VALUE(name, expected value with its type).
$(BUILD)/obj/tests/sim/test_abi.o: $(BUILD)/gen/abi_values.h
$(BUILD)/gen/abi_values.h: tests/data/mpi-abi-values.tsv
	@mkdir -p $(@D)
	@sed -n '/^#/d; s/\t\(0x[0-9a-f]*\) \((MPI_.*)\)$$/\t\2\1/; s/\t/, /; s/.*/ABI_VALUE(&)/p' $< >$@

# One test program per object; all link everything but the command line's main, and a malloc with fences where they have none of their
# own. The conformance suite of collectives is several. They are many: a quick linker, where there is one.
quick_link := $(shell for linker in lld $(if $(filter gcc%,$(variant)),gold); do echo 'int main(void){return 0;}' | $(CC) -fuse-ld=$$linker -x c -o /dev/null - 2>/dev/null && echo -fuse-ld=$$linker && break; done)
fence    := $(BUILD)/obj/tests/fences/libfence.a
$(fence): $(fence:libfence.a=fence.o)
	@rm -f $@
	$Qar qcs $@ $^

$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(BUILD)/libsimrun.a $(fence)
	@mkdir -p $(@D)
	$Q$(CC) $(ALLFLAGS) $(quick_link) -rdynamic -o $@ $(filter %.o,$^) -Wl,--whole-archive $(BUILD)/libsimrun.a -Wl,--no-whole-archive $(fence) $(LIBS)

# Not optimised: to compile them takes a fifth of the time, and what takes theirs is the product's.
$(BUILD)/obj/tests/%.o: ALLFLAGS += -O0

# It looks at its own thread-local variables, where the usual linker places them.
$(BUILD)/tests/sim/test_loader: quick_link :=

$(addprefix $(BUILD)/tests/collectives/test_diff_,conformance peers): $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/collectives/diff_conformance_*.c))

$(tests): | $(tools)

# On a bare system: what is missing is installed first.
demo:
	@./setup
	@$(MAKE) --no-print-directory all
	@sh cli/demo.sh $(BUILD)

test:
	@./setup
	@$(MAKE) --no-print-directory check

scripts  := $(wildcard tests/*/*.t)
# ThreadSanitizer is for ranks that are OS threads: the conformance suite, without the worlds too large for it, and what looks at memory with
# ranks that are not.
ifeq ($(SAN),thread)
tests    := $(filter-out %_scale %_regions,$(filter $(BUILD)/tests/conformance/%,$(tests)))
scripts  :=
endif
# The documents speak of build/simrun.
ifneq (build,$(BUILD))
scripts  := $(filter-out tests/house/docs.t,$(scripts))
endif
# LEAVE="tests/house/% tests/sim/test_libc": what is not asked, patterns of make.
LEAVE    ?=
scripts  := $(filter-out $(LEAVE),$(scripts))
tests    := $(filter-out $(LEAVE:%=$(BUILD)/%),$(tests))
check-programs: all $(tests)
# The recorder for real MPIs is tested where it was built (make peers), and not as it was then.
# The longest begin first, so that none of them runs alone in the end.
longest  := tests/cli/catalogue.t $(addprefix $(BUILD)/tests/,systems/test_server_training gradients/test_diff_windows collectives/test_diff_conformance \
            conformance/test_conformance_collectives conformance/test_conformance_partitioned checker/test_check_polls checker/test_soundness) \
            tests/house/docs.t tests/gradients/tools.t tests/hostile/ways.t tests/memory/loops.t tests/gradients/adjoints.t tests/cli/cli_durability.t \
            tests/memory/algorithms.t tests/memory/helpers.t tests/memory/memory.t
ordered  := $(filter $(tests) $(scripts),$(longest)) $(filter-out $(longest),$(tests) $(scripts))
check: check-programs $(wildcard build/peers/*/libsimrecord.so)
	@unset MAKEFLAGS; OMP_WAIT_POLICY=passive HARNESS_OPTIONS=$${HARNESS_OPTIONS:-j$$(nproc | awk '{ print $$1 < 8 ? $$1 : 8 }')} \
	  SIMRUN=$(BUILD)/simrun BUILD=$(BUILD) prove --directives -e '' $(ordered)

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(BUILD)/libsimrun.a
	@mkdir -p $(@D)
	$Q$(CC) $(ALLFLAGS) -rdynamic -o $@ $< -Wl,--whole-archive $(BUILD)/libsimrun.a -Wl,--no-whole-archive $(LIBS)

benches  := record tape gradcheck checker explore viz
bench: all $(benches:%=$(BUILD)/bench/bench_%)
	@sh bench/run.sh $(BUILD) $(BENCH)
	@sh bench/bench_rpc.sh $(BUILD)
	@sh bench/bench_memory.sh $(BUILD)
	@sh bench/bench_compute.sh $(BUILD)
	@sh bench/bench_windows.sh $(BUILD)
	@perl bench/bench_loops.pl $(BUILD)
	@sh bench/bench_start.sh $(BUILD)
	@$(BUILD)/bench/bench_record
	@$(BUILD)/bench/bench_tape
	@$(BUILD)/bench/bench_gradcheck
	@$(BUILD)/bench/bench_checker 10000000 1000 100000 64
	@$(BUILD)/bench/bench_explore
	@$(BUILD)/bench/bench_viz

# Random differentiable programs by category: right, wrong, undecided, false alarms, false rights; wrong adjoints as they are
# written, with who is blamed; and which communication has derivatives, here and elsewhere.
gradients: all $(BUILD)/tests/collectives/test_diff_generated $(BUILD)/tests/gradients/test_diff_operations
	@SIMRUN_SOAK=$${SIMRUN_SOAK:-125} $(BUILD)/tests/collectives/test_diff_generated
	@SIMRUN_SOAK=$${SIMRUN_SOAK:-125} $(BUILD)/tests/gradients/test_diff_operations
	@SIMRUN=$(BUILD)/simrun perl tests/gradients/adjoints.t --table
	@SIMRUN=$(BUILD)/simrun perl tests/gradients/coverage.pl

# The same MPI programs must say the same here and under Debian's Open MPI and MPICH, and the scenarios must be right there.
# Programs that misbehave in every way we know, on every executor, and ten thousand that write over everything in reach.
.PHONY: hostile
hostile: all
	@SIMRUN=$(BUILD)/simrun ONLY='$(ONLY)' RANKS='$(RANKS)' JOBS='$(JOBS)' perl tests/hostile/table.pl
	@HOSTILE_WRITES=$(or $(WRITES),10000) SIMRUN=$(BUILD)/simrun prove -e '' tests/hostile/hostile.t tests/hostile/strange.t

# simrun and its ranks killed at random moments.
.PHONY: kills
kills: all
	@KILLS=$(or $(KILLS),500) SIMRUN=$(BUILD)/simrun prove -e '' -v tests/hostile/kills.t

test-peers: all peers $(BUILD)/tests/collectives/test_diff_peers
	@SIMRUN=$(BUILD)/simrun PEERS=build/peers COMPARE=$(BUILD)/tests/collectives/test_diff_peers \
	  prove -e '' $(addprefix tests/peers/,conformance.sh compare.sh scenarios.sh groups.sh inside.sh)

# The README's promise on a bootstrapped system, as another user and as root; some minutes. Tests the last commit.
bare:
	@sh tests/bare/bare.sh build/bare $(SUITE)

# The rooms with their files, lines and what each sees.
rooms:
	@perl tests/house/layers.t --table

# "To change X, open Y": every row of the table in docs/architecture.md tried in a copy of the tree; some minutes.
.PHONY: changes
changes: all
	@unset MAKEFLAGS; CC='$(CC)' SAN='$(SAN)' BUILD='$(BUILD)' ONLY='$(ONLY)' perl tests/house/changes.pl

# Every scenario on one core, on two and on all: the same trace, gradients and findings.
.PHONY: cores
cores: all
	@FULL=1 SIMRUN=$(BUILD)/simrun prove -e '' tests/sim/cores.t

# One fault at a time in every collective, every message and every form of them.
.PHONY: faults
faults: all
	@FULL=1 SIMRUN=$(BUILD)/simrun prove -e '' tests/mpi/faults.t

# MPICH's own test-suite, fetched from Debian's source package: a table of passed, named and failed lines. Some minutes; what broke off
# goes on from there. ONLY=messages, windows, FOLDER or FOLDER/PATTERN (tests/mpich/run.pl).
.PHONY: mpich
mpich: all
	@perl tests/mpich/run.pl $(BUILD)/simrun build/mpich $(ONLY)

# Programs of the MPI Bugs Initiative, which say themselves what is wrong with them, from Debian's source package of SimGrid: a table of kinds of
# errors, and what is told otherwise. A few minutes; needs the network. ONLY=PATTERN: programs with such names (tests/mbi/run.pl).
.PHONY: mbi
mbi: all
	@perl tests/mbi/run.pl $(BUILD)/simrun build/mbi $(ONLY)

# Every function of the standard, right and with one wrong argument at a time: recorded, with findings alone, and on threads of the system.
.PHONY: functions
functions: all
	@FULL=1 SIMRUN=$(BUILD)/simrun prove -e '' tests/mpi/functions.t

# Programs nobody here wrote: upstream's sources of Debian packages, unedited, and Debian's own programs, compared with the MPI they are for;
# needs the network, Open MPI, MPICH. APPS="ring_c hpcc": these only. docs/apps.md has a table.
apps: all
	@sh tests/apps/apps.sh $(BUILD) $(APPS)

# Programs whose verdict is known: a table; ends with an error where one deviates that is not marked open.
windows: all
	@SIMRUN=$(BUILD)/simrun perl tests/memory/one_sided.pl
	@SIMRUN=$(BUILD)/simrun perl tests/memory/pairs.pl $(or $(CASES),10000) $(or $(FIRST),0)

.PHONY: local
local: all
	@SIMRUN=$(BUILD)/simrun prove -e '' tests/memory/local.t tests/memory/sides.t tests/memory/reach.t :: all

# Thousands of small programs, one error each, and their right twins; what make test runs of them is a sample.
.PHONY: wrong
wrong: all
	@ALL=1 SIMRUN=$(BUILD)/simrun prove -e '' tests/wrong/*.t

examination: all
	@SIMRUN=$(BUILD)/simrun tests/examination/examine.pl --table

catalogue: all
	@$(BUILD)/simrun catalogue --table

# Takes what the catalogue's findings say today, and its traces' hashes, as right: look at git's difference before you commit.
golden: all $(addprefix $(BUILD)/tests/,$(addprefix checker/test_check_,families models notes order remote servers verdicts) checker/test_joint_bruteforce checker/test_device_bruteforce checker/test_golden_runs checker/test_golden_orders checker/test_golden_suppress collectives/test_golden_judge $(addprefix collectives/test_diff_,answers curves flips generated kinks programs) $(addprefix gradients/test_diff_,delivery local operations stored waits) traces/test_golden_formats traces/test_golden_stored $(addprefix verdict/test_,activity check_data check_ends check_hangs long_waits one_verdict varied_traces) verdict/test_golden_plans verdict/test_golden_recorded)
	@SIMRUN=$(BUILD)/simrun perl tests/cli/catalogue.t --update
	@for test in $(filter $(BUILD)/tests/%,$^); do GOLDEN=update $$test >/dev/null || exit; done

# A million random programs against the rules of matching; SPEC_PROGRAMS=, SIMRUN_SEED= where to begin.
SPEC_PROGRAMS ?= 1000000
spec-soak: $(BUILD)/tests/spec/test_matching_rules
	@SIMRUN_SOAK=$(SPEC_PROGRAMS) $<

# No run may contradict what was proven; SIMRUN_SEED= where to begin.
.PHONY: soak
soak: $(BUILD)/tests/checker/test_proven
	@SIMRUN_SOAK=$(or $(PROGRAMS),2500) HUNT_RUNS=$(or $(RUNS),200) $<

# Changes the sources in thousands of ways and prints what no test notices. SAMPLE=200: so many of them, PICKS=40: of so many files; ONLY=sim/messages: there alone;
# TESTS=tests/sim/: only tests whose path has this. DEAR=2 EFFORT=4: tests of at most 2 seconds, at most 4 seconds of programs
# and 4 of scripts for a mutant; SCRIPTS=tests/memory: these scripts, too, . for all; BY_HAND=tests/mutate/holes.txt: the changes of that file, and no others.
# AGAIN=FILE: what a run before left, of the list it wrote (build/mutants.tsv).
# The tree stays in build/mutate: the next sample compiles what changed since, and the same SEED tries the same changes.
SAMPLE   ?=
ONLY     ?=
mutate: $(if $(wildcard build/mutate/tree/mutated),,$(if $(SAMPLE)$(ONLY)$(AGAIN)$(BY_HAND),check-programs))
	@python3 tests/mutate/run.py $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(PICKS),--picks $(PICKS)) $(if $(SEED),--seed $(SEED)) --only '$(ONLY)' --tests '$(TESTS)' $(if $(BAR),--bar $(BAR)) \
	  $(if $(SCRIPTS),--scripts '$(SCRIPTS)') $(if $(AGAIN),--again '$(AGAIN)') $(if $(BY_HAND),--by-hand $(BY_HAND)) $(if $(DEAR),--dear $(DEAR)) $(if $(EFFORT),--effort $(EFFORT)) --list build/mutants.tsv

# Lines and branches of every room that the tests execute; COVERAGE=--files for each source.
COVERAGE ?=
coverage:
	@$(MAKE) --no-print-directory BUILD=build/coverage CFLAGS='-O0 -g --coverage -fprofile-update=atomic' check-programs
	@find build/coverage -name '*.gcda' -delete
	@-SIMRUN=build/coverage/simrun BUILD=build/coverage prove -e '' -j2 -Q $(tests:$(BUILD)/%=build/coverage/%) $(if $(SCRIPTS),$(scripts))
	@python3 tests/house/coverage.py build/coverage $(COVERAGE)

# Every reader of files against libFuzzer, from the seeds in tests/fuzz/corpus.
FUZZ_CC      ?= clang
FUZZ_SECONDS ?= 60
fuzz:
	@sh tests/fuzz/run.sh $(FUZZ_CC) build/fuzz $(FUZZ_SECONDS)

where    := $(DESTDIR)$(PREFIX)
install: all
	install -d "$(where)/bin" "$(where)/include/simrun" "$(where)/lib/simrun" "$(where)/share/simrun/scenarios"
	install -m 755 $(BUILD)/simrun $(wrappers) "$(where)/bin"
	install -m 644 $(public) "$(where)/include/simrun"
	install -m 755 $(stub) "$(where)/lib/simrun"
	install -m 644 $(start) "$(where)/lib/simrun"
	$(if $(loops),install -m 755 $(loops) "$(where)/lib/simrun")
	install -d "$(where)/lib/simrun/shims"
	install -m 755 $(shims) "$(where)/lib/simrun/shims"
	ln -sf $(notdir $(stub)) "$(where)/lib/simrun/libmpi_abi.so"
	install -m 755 $(firstword $(fortran)) "$(where)/lib/simrun"
	ln -sf $(notdir $(firstword $(fortran))) "$(where)/lib/simrun/libsimrun_fortran.so"
	install -m 644 $(filter %.h %.f90,$(fortran)) "$(where)/include/simrun"
	install -m 644 $(wildcard scenarios/*.[ch]) "$(where)/share/simrun/scenarios"
	install -d "$(where)/lib/pkgconfig"
	sed 's/@VERSION@/$(VERSION)/' cli/simrun.pc.in >"$(where)/lib/pkgconfig/simrun.pc"
	install -d "$(where)/share/man/man1" "$(where)/share/man/man5" "$(where)/share/bash-completion/completions"
	install -m 644 docs/man/simrun.1 "$(where)/share/man/man1"
	install -m 644 docs/man/simrun-db.5 "$(where)/share/man/man5"
	$(BUILD)/simrun completion bash >"$(where)/share/bash-completion/completions/simrun"
	for mpi in openmpi mpich; do test ! -f build/peers/$$mpi/libsimrecord.so || \
	  install -D -m 755 build/peers/$$mpi/libsimrecord.so "$(where)/lib/simrun/$$mpi/libsimrecord.so" || exit; done

format:
	clang-format -i $(sources) $(wildcard sim/shims/*.c sim/fortran/*.c sim/compile/*.cc) $(headers) $(call files,tests,c)
format-check:
	clang-format --dry-run --Werror $(sources) $(wildcard sim/shims/*.c sim/fortran/*.c sim/compile/*.cc) $(headers) $(call files,tests,c)

help:
	@sed -n '/^$$/q; s/^# \{0,1\}//p' Makefile

clean:
	rm -rf build

include collectives/peers/peers.mk recorder/preload/preload.mk
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
.PHONY: golden apps windows examination all install demo test bare gradients test-peers check check-programs bench catalogue rooms fuzz mutate coverage spec-soak format format-check help clean
.SECONDARY:
