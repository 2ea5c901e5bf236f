/* Who makes the images of ranks: see images.h. */
#include "sim/libc/images.h"

#include <stddef.h>

_Thread_local unsigned char libc_thread_started;

static bool holds_none(const struct sim_program *program, int image, uintptr_t address)
{
    (void)program, (void)image, (void)address;
    return false;
}

static void enter_none(const struct sim_program *program, int image)
{
    (void)program, (void)image;
}

static void end_none(void)
{
}

static void finish_none(struct sim_program *program, int image)
{
    (void)program, (void)image;
}

static void getopt_none(struct sim_program *program, int image, struct sim_libc_getopt *out)
{
    (void)program, (void)image, (void)out;
}

static struct libc_handler **handlers_none(struct sim_program *program, int image)
{
    (void)program, (void)image;
    return NULL;
}

static struct libc_handler **handlers_at_none(const void *address)
{
    (void)address;
    return NULL;
}

static const char *file_none(const void *address, uintptr_t *bias, enum libc_between *between)
{
    (void)address, (void)bias, (void)between;
    return NULL;
}

static const void *site_itself(int image, const void *site)
{
    (void)image;
    return site;
}

static const struct sim_libc_images nobody = {holds_none,       enter_none,  end_none,
                                              finish_none,      getopt_none, handlers_none,
                                              handlers_at_none, file_none,   site_itself};
const struct sim_libc_images *_Atomic libc_images = &nobody;

void sim_libc_use_images(const struct sim_libc_images *images)
{
    if (libc_images != images)
        libc_images = images;
}
