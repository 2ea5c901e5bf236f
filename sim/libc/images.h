/* What libc's functions ask of whoever makes the images of ranks (sim/programs).
 *
 * Before anybody has said who that is, nobody has an image. */
#ifndef SIM_LIBC_IMAGES_H
#define SIM_LIBC_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

struct sim_program;
struct libc_handler;

/* Getopt's variables as an image sees them. */
struct sim_libc_getopt {
    int *optind, *opterr, *optopt;
    char **optarg;
    bool shared; /* with other ranks, whose scans may have left them anywhere */
};

/* What stands between the program and the launcher: a shim of ours (sim/shims), whose frames have their pointers; or another MPI's library
 * above that, whose frames need not. */
enum libc_between { LIBC_PROGRAM, LIBC_SHIM, LIBC_ABOVE_SHIM };

struct sim_libc_images {
    /* Whether the address lies in the code of this image. */
    bool (*holds)(const struct sim_program *program, int image, uintptr_t address);
    /* The calling thread, one that a rank started, gets the thread-locals of the image; and it ends,
     * or begins to carry ranks: those it had are freed. */
    void (*thread_enter)(const struct sim_program *program, int image);
    void (*thread_end)(void);
    void (*finish)(struct sim_program *program, int image); /* runs destructors */
    void (*getopt)(struct sim_program *program, int image, struct sim_libc_getopt *out);
    /* Where the handlers that an image's constructors registered are kept; and those of the image
     * that holds an address. NULL: by the system. */
    struct libc_handler **(*handlers)(struct sim_program *program, int image);
    struct libc_handler **(*handlers_at)(const void *address);
    /* The file of the image that holds an address, and where that image's linker put 0; NULL: none
     * does. */
    const char *(*file_of)(const void *address, uintptr_t *bias, enum libc_between *between);
    /* The address that is in image `image` what this one is in another of the same file. */
    const void *(*site_of)(int image, const void *site);
};

/* `images` must live as long as the process. */
void sim_libc_use_images(const struct sim_libc_images *images);
extern const struct sim_libc_images *_Atomic libc_images;

/* The calling thread is one that a rank started (an OpenMP or POSIX thread): it has thread-locals
 * of its own in every image. Threads that carry ranks are not. Read by assembly, too. */
extern _Thread_local unsigned char libc_thread_started;

#endif
