#include "collectives/server/private.h"
void reader_free(struct reader *reader)
{
    (void)reader;
}
