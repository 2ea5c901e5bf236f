/* Every way a library can keep a variable: a function that adds to it and returns it. */
#ifndef KINDS_H
#define KINDS_H
#ifdef __cplusplus
extern "C" {
#endif
extern int plain, common, overridden, interposed, guarded;
int plain_add(int), hidden_add(int), local_add(int), built_add(int), chosen_add(int), weak_add(int),
    common_add(int), guarded_add(int), interposed_add(int), pointed_add(int), inline_first_add(int),
    inline_second_add(int), function_static_add(int), heap_add(int);
#ifdef __cplusplus
}
#endif
#endif
