/* removed.h: what MPI-3 removed and the suite still calls, in terms of what replaced it. */
#define MPI_Type_hindexed     MPI_Type_create_hindexed
#define MPI_Type_hvector      MPI_Type_create_hvector
#define MPI_Type_struct       MPI_Type_create_struct
#define MPI_Address           MPI_Get_address
#define MPI_Errhandler_create MPI_Comm_create_errhandler
#define MPI_Errhandler_set    MPI_Comm_set_errhandler
#define MPI_Errhandler_get    MPI_Comm_get_errhandler
#define MPI_Handler_function  MPI_Comm_errhandler_function
