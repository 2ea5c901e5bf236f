! ranks: 2..3
! store: B003
! load: B001
! nounlock: B005
! section: OK
program sweep
    use mpi
    implicit none
    integer :: rank, size, ierr, win, i
    integer(kind=MPI_ADDRESS_KIND) :: bytes, where
    real(8) :: line(10), got(4), total
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    line = rank
    got = 0
    bytes = 80
    call MPI_Win_create(line, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_lock(MPI_LOCK_SHARED, mod(rank + 1, size), 0, win, ierr) ! @nounlock
    where = 3
    call MPI_Get(got, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), where, 4, MPI_DOUBLE_PRECISION, win, ierr) ! @load @store
    total = 0
    do i = 1, 4 ! +load
        total = total + got(i) ! +load @load
    end do ! +load
    line(5) = 7 ! +store @store
    line(1:3) = 7 ! +section
    call MPI_Win_unlock(mod(rank + 1, size), win, ierr) ! -nounlock
    call MPI_Win_free(win, ierr) ! @nounlock
    if (sum(got) + total < 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    call MPI_Finalize(ierr)
end program
