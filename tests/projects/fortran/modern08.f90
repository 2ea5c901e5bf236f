! The same as modern.f90, by the module mpi_f08: handles are types, ierror is left out. Any MPI prints the same.
module own
  use mpi_f08
  implicit none
  integer :: called = 0, copied = 0
contains
  subroutine squares(in, inout, count, kind)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: count
    type(MPI_Datatype) :: kind
    integer, pointer :: x(:), y(:)
    call c_f_pointer(in, x, [count])
    call c_f_pointer(inout, y, [count])
    if (kind == MPI_INTEGER) y = y + x * x
  end subroutine
  subroutine refused(comm, code)
    type(MPI_Comm) :: comm
    integer :: code, class
    call MPI_Error_class(code, class)
    if (class == MPI_ERR_RANK .and. comm == MPI_COMM_WORLD) called = called + 1
  end subroutine
  subroutine copy(comm, key, extra, in, out, flag, ierr)
    type(MPI_Comm) :: comm
    integer :: key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    copied = copied + int(extra)
    out = in + 1
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine
end module

program modern
  use own
  implicit none
  integer :: rank, n, ierr, i, next, last, at, total, key, done
  type(MPI_Comm) :: comm, other
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: handler
  type(MPI_Datatype) :: kind, kinds(2)
  type(MPI_Request) :: requests(3)
  type(MPI_Status) :: status, statuses(3)
  integer :: got(3), x(3), y(3), lengths(2), count
  integer(kind=MPI_ADDRESS_KIND) :: value, where(2), lower, extent
  logical :: flag, periods(1), back(1)
  integer :: dims(1), coords(1)
  double precision :: z, t
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: text
  call MPI_Init()
  t = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  next = mod(rank + 1, n)
  last = mod(rank + n - 1, n)
  total = rank
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a,i0,a,i0)', 'sum ', total, ' of ', n
  x = [1, 2, 3] + rank
  do i = 1, 3
    call MPI_Irecv(y(i), 1, MPI_INTEGER, last, i, MPI_COMM_WORLD, requests(i))
  end do
  do i = 3, 1, -1
    call MPI_Send(x(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD)
  end do
  call MPI_Waitany(3, requests, at, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  if (at < 1 .or. at > 3 .or. status%MPI_TAG /= at .or. status%MPI_SOURCE /= last .or. count /= 1) print *, 'wrong position', at
  call MPI_Waitsome(3, requests, done, got, MPI_STATUSES_IGNORE)
  if (any(got(1:done) < 1) .or. any(got(1:done) > 3) .or. any(got(1:done) == at)) print *, 'wrong positions', got(1:done)
  call MPI_Waitall(3, requests, statuses)
  do i = 1, 3
    if (requests(i) /= MPI_REQUEST_NULL) print *, 'wrong request', i
  end do
  if (any(y /= [1, 2, 3] + last)) print *, 'wrong values', y
  call MPI_Waitany(3, requests, at, MPI_STATUS_IGNORE)
  if (at /= MPI_UNDEFINED) print *, 'wrong nothing', at
  call MPI_Op_create(squares, .true., op)
  call MPI_Reduce([rank, 1], y, 2, MPI_INTEGER, op, 0, MPI_COMM_WORLD)
  call MPI_Op_free(op)
  if (rank == 0) print '(a,l1)', 'operation freed ', op == MPI_OP_NULL
  periods = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [n], periods, .false., comm)
  call MPI_Cart_get(comm, 1, dims, back, coords)
  if (rank == 0) print '(a,l1,1x,i0)', 'periodic ', back(1), dims(1)
  call MPI_Comm_set_name(comm, 'a ring')
  call MPI_Comm_get_name(comm, name, i)
  if (rank == 0) print '(a,a,1x,i0)', 'name ', trim(name), i
  call MPI_Comm_free(comm)
  call MPI_Get_address(x, where(1))
  call MPI_Get_address(z, where(2))
  lengths = [3, 1]
  kinds = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
  call MPI_Type_create_struct(2, lengths, where, kinds, kind)
  call MPI_Type_commit(kind)
  z = 2.5
  if (rank /= 0) x = 0
  if (rank /= 0) z = 0
  call MPI_Bcast(MPI_BOTTOM, 1, kind, 0, MPI_COMM_WORLD)
  if (any(x /= [1, 2, 3]) .or. z /= 2.5) print *, 'wrong broadcast', x, z
  call MPI_Type_free(kind)
  call MPI_Type_get_extent(MPI_DOUBLE_PRECISION, lower, extent)
  if (rank == 0) print '(a,i0)', 'extent ', extent
  call MPI_Comm_create_errhandler(refused, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
  call MPI_Send(x, 1, MPI_INTEGER, n, 0, MPI_COMM_WORLD)
  call MPI_Errhandler_free(handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Send(x, 1, MPI_INTEGER, n, 0, MPI_COMM_WORLD, ierr)
  call MPI_Error_string(ierr, text, i)
  if (rank == 0) print '(a,i0,1x,l1)', 'handler called ', called, i > 0 .and. i == len_trim(text)
  call MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, key, 1_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 41_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, other)
  call MPI_Comm_get_attr(other, key, value, flag)
  if (rank == 0) print '(a,i0,1x,l1,1x,i0)', 'attribute ', value, flag, copied
  call MPI_Comm_free(other)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key)
  call MPI_Comm_free_keyval(key)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  if (rank == 0) print '(a,l1,1x,l1)', 'tags ', flag, value >= 32767
  call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status)
  if (rank == 0) print '(a,l1,1x,l1)', 'probe ', flag, MPI_Wtime() >= t
  call MPI_Finalize()
end program
