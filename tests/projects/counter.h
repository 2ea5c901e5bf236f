/* A library with a variable: each rank's calls count for itself. */
#ifndef COUNTER_H
#define COUNTER_H
#ifdef __cplusplus
extern "C" {
#endif
int counter_add(int value);
extern int counter_calls;
#ifdef __cplusplus
}
#endif
#endif
