program later
  use mpi
  implicit none
  integer :: ierr, rank, c(3), r(3), i, n, deep(1000)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  c = -5
  do i = 1, 3
    call MPI_Comm_idup(MPI_COMM_WORLD, c(i), r(i), ierr)
  end do
  call use_stack(deep)
  call MPI_Waitall(3, r, MPI_STATUSES_IGNORE, ierr)
  do i = 1, 3
    call MPI_Barrier(c(i), ierr)
    call MPI_Comm_size(c(i), n, ierr)
    call MPI_Comm_free(c(i), ierr)
  end do
  if (rank == 0) print *, 'idup', n, all(c == MPI_COMM_NULL)
  call MPI_Finalize(ierr)
end program
subroutine use_stack(a)
  integer :: a(1000)
  a = 7
end subroutine
