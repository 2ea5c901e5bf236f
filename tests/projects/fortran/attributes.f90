! Attributes of types and windows, and a window's error handler.
module functions
  use mpi
  integer :: copied = 0, deleted = 0, called = 0
contains
  subroutine copy(type, key, extra, in, out, flag, ierr)
    integer :: type, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    copied = copied + int(extra)
    out = in + 1
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine
  subroutine drop(object, key, value, extra, ierr)
    integer :: object, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    deleted = deleted + int(value)
    ierr = MPI_SUCCESS
  end subroutine
  subroutine refused(win, code)
    integer :: win, code
    called = called + 1
  end subroutine
end module
program attributes
  use functions
  implicit none
  integer(kind=MPI_ADDRESS_KIND) :: value, bytes = 80, zero = 0
  integer :: type, other, key, win, ierr, handler, size
  logical :: flag
  double precision :: x(10)
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call MPI_Type_contiguous(2, MPI_INTEGER, type, ierr)
  call MPI_Type_create_keyval(copy, drop, key, 5_MPI_ADDRESS_KIND, ierr)
  call MPI_Type_set_attr(type, key, 41_MPI_ADDRESS_KIND, ierr)
  call MPI_Type_dup(type, other, ierr)
  call MPI_Type_get_attr(other, key, value, flag, ierr)
  print '(a,l1,3(1x,i0))', 'type ', flag, value, copied, deleted
  call MPI_Type_free(other, ierr)
  call MPI_Type_free(type, ierr)
  call MPI_Type_free_keyval(key, ierr)
  print '(a,i0)', 'deleted ', deleted
  call MPI_Win_create(x, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
  print '(a,l1,1x,i0)', 'size ', flag, value
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierr)
  print '(a,l1,1x,i0)', 'unit ', flag, value
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierr)
  print '(a,l1,1x,l1)', 'base ', flag, value == loc(x)
  call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierr)
  print '(a,l1,1x,l1)', 'flavor ', flag, value == MPI_WIN_FLAVOR_CREATE
  call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, drop, key, zero, ierr)
  call MPI_Win_set_attr(win, key, 7_MPI_ADDRESS_KIND, ierr)
  call MPI_Win_get_attr(win, key, value, flag, ierr)
  print '(a,l1,1x,i0)', 'own ', flag, value
  call MPI_Win_create_errhandler(refused, handler, ierr)
  call MPI_Win_set_errhandler(win, handler, ierr)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(x, 1, MPI_DOUBLE_PRECISION, size, zero, 1, MPI_DOUBLE_PRECISION, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Win_free(win, ierr)
  print '(a,i0,1x,l1)', 'deleted ', deleted, called > 0
  call MPI_Finalize(ierr)
end program
