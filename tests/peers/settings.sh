# Sourced by the scripts beside it: how Open MPI and MPICH are run here, with more ranks than cores.
# BUILT names the folder of `make peers`.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
shim=$BUILT/give_way.so
case $(realpath "$BUILT") in *[[:space:]:]*) shim=$(mktemp -d)/give_way.so ;; esac # LD_PRELOAD ends names there
mkdir -p "$BUILT" && cc -shared -fPIC -O2 -D_GNU_SOURCE -o "$shim" "$(dirname "$0")/shim/give_way.c" -ldl || shim=

# Those of the two that are installed.
installed_peers() {
    for installed in openmpi mpich; do
        command -v mpiexec.$installed
    done | sed 's/.*\.//'
}

# peer_run PEER SECONDS RANKS PROGRAM [ARGUMENT...]
peer_run() {
    peer_run_peer=$1 peer_run_seconds=$2 peer_run_ranks=$3
    shift 3
    if [ "$peer_run_peer" = mpich ] && [ -n "$shim" ]; then
        timeout "$peer_run_seconds" mpiexec.mpich -env LD_PRELOAD "$(realpath "$shim")" -n "$peer_run_ranks" "$@" </dev/null
    else
        timeout "$peer_run_seconds" "mpiexec.$peer_run_peer" -n "$peer_run_ranks" "$@" </dev/null
    fi
}
