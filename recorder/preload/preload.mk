# make peers also builds the preloaded recorder: build/peers/<mpi>/libsimrecord.so, for Debian's Open MPI and MPICH.
# The sources are the simulator's own, compiled against the other MPI's header; only MPI_ functions are visible.

preload_sources := $(addprefix recorder/,preload/preload.c preload/preload_ends.c preload/machine_absent.c ahead.c buffers.c feeder.c recorder.c repeats.c comms.c requests.c threads.c types.c recording.c \
                   packing.c drops.c balances.c buffers_damage.c $(addprefix wrappers/,collective.c communicator.c partitioned.c persistent.c point.c wait.c window.c)) \
                   $(addprefix traces/,base/failure.c base/identity.c trace/handle_map.c trace/kinds.c trace/types.c)

define preload_rules
build/peers/$1/record/%.o: %.c build/peers/include/mpix.h
	@mkdir -p $$(@D)
	@echo "mpicc.$1 $$<"
	$$(Q)mpicc.$1 $$(peer_flags) -fPIC -DRECORDER_PRELOADED -I. -Ibuild/peers/include -MMD -MP -c -o $$@ $$<
build/peers/$1/libsimrecord.so: $$(preload_sources:%.c=build/peers/$1/record/%.o) recorder/preload/preload.map
	@echo "link $$@"
	$$(Q)mpicc.$1 -shared -Wl,-Bsymbolic -Wl,-z,defs -Wl,--version-script=recorder/preload/preload.map -o $$@ $$(filter %.o,$$^) -pthread
peers-$1: build/peers/$1/libsimrecord.so
endef
$(foreach name,$(peer_names),$(eval $(call preload_rules,$(name))))
