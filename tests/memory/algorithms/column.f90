! ranks: 3..3
! col: B003
! row: OK
! self: B003
program column
    use mpi_f08
    implicit none
    integer :: rank, size, j
    type(MPI_Win) :: win
    type(MPI_Datatype) :: rowtype
    integer(kind=MPI_ADDRESS_KIND) :: at
    real, allocatable, target :: a(:, :)
    real :: edge(4)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    allocate(a(4, 4))
    a = real(rank)
    edge = 5
    call MPI_Type_vector(4, 1, 4, MPI_REAL, rowtype)
    call MPI_Type_commit(rowtype)
    call MPI_Win_create(a, int(64, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    at = 0
    if (rank == 0) call MPI_Put(edge, 4, MPI_REAL, 2, at, 1, rowtype, win) ! @col @self
    at = 1
    if (rank == 1) call MPI_Put(edge, 4, MPI_REAL, 2, at, 1, rowtype, win) ! @col
    at = 4 ! +col
    if (rank == 1) call MPI_Put(edge, 4, MPI_REAL, 2, at, 4, MPI_REAL, win) ! +col @col
    at = 2 ! +row
    if (rank == 1) call MPI_Put(edge, 4, MPI_REAL, 2, at, 1, rowtype, win) ! +row
    if (rank == 2) then ! +self
        do j = 1, 4 ! +self
            a(1, j) = -1 ! +self @self
        end do ! +self
    end if ! +self
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
    call MPI_Type_free(rowtype)
    deallocate(a)
    call MPI_Finalize()
end program
