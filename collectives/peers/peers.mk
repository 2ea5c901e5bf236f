# make peers: the differentiable library and its programs on Debian's Open MPI and MPICH.
# Builds into build/peers/<mpi>; the sources are the simulator's own, peer.c and machine_absent.c stand in for the machine.

peer_names    := openmpi mpich
peer_sources  := $(call files,collectives,c) $(wildcard tests/collectives/diff_conformance_*.c) \
                 recorder/preload/machine_absent.c $(addprefix traces/,base/failure.c formats/csv_table.c input/input.c ) $(wildcard traces/trace/*.c)
# Programs; tests/peers/scenarios.sh runs the scenarios among them.
peer_programs := tests/collectives/diff_conformance.c tests/peers/gradients/inside.c tests/systems/channel_peers.c tests/gradients/windows_peers.c tests/systems/process_group_peers.c $(patsubst %,scenarios/%.c,ring user server-sync server-async server-central pipeline tensor-parallel data-parallel sharded \
                 expert-parallel ring-attention process-group worker-gradient worker-order worker-lock worker-freed worker-types worker-data dist-autograd dist-derivatives dist-again dist-orders)
peer_flags    := -std=c17 -D_GNU_SOURCE -O2 -g -ffp-contract=off -fopenmp $(filter-out -Wcast-qual -Wconversion,$(WARNINGS)) -Wno-stringop-overflow

build/peers/include/%.h: sim/%.h
	@mkdir -p $(@D)
	@cp $< $@

define peer_rules
build/peers/$1/%.o: %.c build/peers/include/mpix.h build/peers/include/words.h
	@mkdir -p $$(@D)
	@echo "mpicc.$1 $$<"
	$$(Q)mpicc.$1 $$(peer_flags) -I. -Ibuild/peers/include -Icollectives $(addprefix -I,$(sort $(dir $(systems)))) -MMD -MP -c -o $$@ $$<
build/peers/$1/libdiff.a: $$(peer_sources:%.c=build/peers/$1/%.o)
	@rm -f $$@
	$$(Q)ar qcs $$@ $$^
build/peers/$1/%: build/peers/$1/%.o build/peers/$1/libdiff.a
	$$(Q)mpicc.$1 $$(peer_flags) -o $$@ $$^ -lzstd -lm
peers-$1: $$(peer_programs:%.c=build/peers/$1/%)
.PHONY: peers-$1
endef
$(foreach name,$(peer_names),$(eval $(call peer_rules,$(name))))

peers: $(peer_names:%=peers-%)
.PHONY: peers
-include $(shell find build/peers -name '*.d' 2>/dev/null)
