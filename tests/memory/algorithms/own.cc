// ranks: 2..4
// deref: B001
// lambda: B001
// unlockless: B001 B005
// early: B001
#include <mpi.h>
#include <functional>
#include <memory>
#include <stdexcept>
struct Lock {
    MPI_Win win; int target; bool open = true;
    Lock(MPI_Win w, int t) : win(w), target(t) { MPI_Win_lock(MPI_LOCK_SHARED, t, 0, w); } // @unlockless
    ~Lock() { if (open) MPI_Win_unlock(target, win); }
};
template <typename T> MPI_Datatype type_of();
template <> MPI_Datatype type_of<double>() { return MPI_DOUBLE; }
template <typename T> struct Global {
    MPI_Win win; T *base;
    explicit Global(T first) { MPI_Win_allocate(sizeof(T), sizeof(T), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win); *base = first; MPI_Barrier(MPI_COMM_WORLD); }
    ~Global() { MPI_Win_free(&win); } // @unlockless
    void fetch(int from, T &to) const { MPI_Get(&to, 1, type_of<T>(), from, 0, 1, type_of<T>(), win); } // @deref @lambda @early @unlockless
};
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {
        Global<double> g(rank);
        auto value = std::make_unique<double>(-1);
        std::function<double()> look = [&value] { return *value; }; // @lambda
        {
            Lock lock(g.win, (rank + 1) % size);
            g.fetch((rank + 1) % size, *value);
            lock.open = false; // +unlockless
            if (*value > 3) MPI_Abort(MPI_COMM_WORLD, 1); // +deref @deref
            if (look() > 3) MPI_Abort(MPI_COMM_WORLD, 1); // +lambda @lambda
            value.reset(); // +early =early
        }
        if (look && size > 100) MPI_Abort(MPI_COMM_WORLD, (int)*value);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
