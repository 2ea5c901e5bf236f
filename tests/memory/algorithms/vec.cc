// ranks: 2..3
// sort: B003
// grow: B001 B003
// iter: B003
// origin: B001
// copy: B001
// order: B001
// other: OK
#include <mpi.h>
#include <algorithm>
#include <numeric>
#include <vector>
class Window {
  public:
    explicit Window(std::vector<int> &memory)
    {
        MPI_Win_create(memory.data(), (MPI_Aint)(memory.size() * sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win_);
    }
    ~Window() { MPI_Win_free(&win_); } // @grow
    void fence() { MPI_Win_fence(0, win_); } // @grow
    void put(const std::vector<int> &from, int to, int at)
    {
        MPI_Put(from.data(), (int)from.size(), MPI_INT, to, at, (int)from.size(), MPI_INT, win_); // @sort @iter @origin @copy @order @grow
    }
  private:
    MPI_Win win_;
};
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {
        std::vector<int> memory(32, rank), out(4);
        std::iota(out.begin(), out.end(), 10 * rank);
        Window w(memory);
        w.fence();
        w.put(out, (rank + 1) % size, 4);
        std::sort(memory.begin(), memory.end()); // +sort =sort
        memory.resize(100000); // +grow @grow
        for (auto it = memory.rbegin(); it != memory.rend(); ++it) // +iter
            *it += 1; // +iter @iter
        std::fill(out.begin() + 1, out.end(), 0); // +origin =origin
        std::sort(out.begin(), out.end(), [](int a, int b) { return a > b; }); // +order =order
        out = std::vector<int>{9, 8, 7, 6}; // +copy =copy
        std::sort(memory.begin() + 8, memory.end()); // +other
        w.fence();
        if (std::accumulate(memory.begin(), memory.end(), 0) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
