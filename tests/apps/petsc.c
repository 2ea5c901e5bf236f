/* A linear system by Krylov's methods: what programs over PETSc do. */
#include <petscksp.h>

int main(int argc, char **argv)
{
    enum { UNKNOWNS = 200 };
    Mat matrix;
    Vec x, b;
    KSP solver;
    PetscInt first, end, iterations;
    PetscReal norm;
    PetscInitialize(&argc, &argv, NULL, NULL);
    MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, UNKNOWNS, UNKNOWNS, 3, NULL, 2, NULL,
                 &matrix);
    MatGetOwnershipRange(matrix, &first, &end);
    for (PetscInt row = first; row < end; row++) {
        PetscInt columns[] = {row - 1, row, row + 1}; /* negative ones are left out */
        PetscScalar values[] = {-1, 2.1, -1};
        MatSetValues(matrix, 1, &row, row + 1 < UNKNOWNS ? 3 : 2, columns, values, INSERT_VALUES);
    }
    MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY);
    MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY);
    MatCreateVecs(matrix, &x, &b);
    VecSet(b, 1);
    KSPCreate(PETSC_COMM_WORLD, &solver);
    KSPSetOperators(solver, matrix, matrix);
    KSPSetTolerances(solver, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT);
    KSPSolve(solver, b, x);
    KSPGetIterationNumber(solver, &iterations);
    VecNorm(x, NORM_2, &norm);
    PetscPrintf(PETSC_COMM_WORLD, "norm %.10f, %d iterations\n", (double)norm, (int)iterations);
    KSPDestroy(&solver);
    VecDestroy(&x);
    VecDestroy(&b);
    MatDestroy(&matrix);
    return PetscFinalize();
}
