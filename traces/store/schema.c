/* The SQL texts of the store, compiled in from the .sql files beside this one. */
#include "traces/store/internal.h"

#define SQL_TEXT(symbol, file)                                                                     \
    __asm__(".pushsection .rodata\n.globl " symbol "\n" symbol ":\n.incbin \"traces/store/" file   \
            "\"\n.byte 0\n.popsection\n")

SQL_TEXT("store_schema", "schema.sql");
SQL_TEXT("store_migrate_1", "migrate_1.sql");
SQL_TEXT("store_migrate_1_copy", "migrate_1_copy.sql");
SQL_TEXT("store_migrate_2", "migrate_2.sql");
SQL_TEXT("store_migrate_3", "migrate_3.sql");
SQL_TEXT("store_migrate_4", "migrate_4.sql");

extern const char store_migrate_2[], store_migrate_3[], store_migrate_4[];

const char *const store_migrations[STORE_VERSION] = {
    [2] = store_migrate_2, [3] = store_migrate_3, [4] = store_migrate_4};
