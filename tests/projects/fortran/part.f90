! The Fortran half of a C program: it is given a communicator as Fortran knows it.
subroutine part(comm, mine, result) bind(c)
  use mpi
  use iso_c_binding
  implicit none
  integer(c_int), value :: comm, mine
  integer(c_int) :: result
  integer, save :: calls = 0
  integer :: ierr
  calls = calls + 1
  call MPI_Allreduce(mine * calls, result, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
end subroutine
