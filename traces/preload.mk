# make peers also builds the preloaded recorder: build/peers/<mpi>/libsimrecord.so, for Debian's Open MPI and MPICH.
# The sources are the simulator's own, compiled against the other MPI's header; only MPI_ functions are visible.

preload_sources := $(addprefix traces/,preload.c preload_ends.c buffers.c failure.c feeder.c handle_map.c identity.c kinds.c recorder.c recorder_comms.c \
                   recorder_requests.c recorder_threads.c recorder_types.c recording.c trace_types.c wrappers_coll.c wrappers_comm.c wrappers_p2p.c wrappers_wait.c)

define preload_rules
build/peers/$1/record/%.o: %.c build/peers/include/mpix.h
	@mkdir -p $$(@D)
	@echo "mpicc.$1 $$<"
	$$(Q)mpicc.$1 $$(peer_flags) -fPIC -DRECORDER_PRELOADED -I. -Ibuild/peers/include -MMD -MP -c -o $$@ $$<
build/peers/$1/libsimrecord.so: $$(preload_sources:%.c=build/peers/$1/record/%.o) traces/preload.map
	@echo "link $$@"
	$$(Q)mpicc.$1 -shared -Wl,-Bsymbolic -Wl,--version-script=traces/preload.map -o $$@ $$(filter %.o,$$^) -pthread
peers-$1: build/peers/$1/libsimrecord.so
endef
$(foreach name,$(peer_names),$(eval $(call preload_rules,$(name))))
