! A generalised request: its functions are called with what it was started with.
module answers
  use mpi
  integer :: asked = 0, freed = 0, cancelled = 0
contains
  subroutine ask(extra, status, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierr
    asked = asked + int(extra)
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierr)
    call MPI_Status_set_cancelled(status, .false., ierr)
    status(MPI_SOURCE) = 7
    status(MPI_TAG) = 8
    ierr = MPI_SUCCESS
  end subroutine
  subroutine let_go(extra, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    freed = freed + int(extra)
    ierr = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierr
    if (.not. complete) cancelled = cancelled + int(extra)
    ierr = MPI_SUCCESS
  end subroutine
end module
program general
  use answers
  implicit none
  integer(kind=MPI_ADDRESS_KIND) :: extra = 41
  integer :: request, ierr, status(MPI_STATUS_SIZE), count
  call MPI_Init(ierr)
  call MPI_Grequest_start(ask, let_go, cancel, extra, request, ierr)
  call MPI_Cancel(request, ierr)
  call MPI_Grequest_complete(request, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, count, ierr)
  print '(a,6(1x,i0))', 'general', asked, freed, cancelled, count, status(MPI_SOURCE), status(MPI_TAG)
  call MPI_Finalize(ierr)
end program
