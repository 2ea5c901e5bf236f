/* The SQL texts of the store, compiled in from the .sql files beside this one. */
#include "traces/store_private.h"

#define SQL_TEXT(symbol, file)                                                                     \
    __asm__(".pushsection .rodata\n.globl " symbol "\n" symbol ":\n.incbin \"traces/" file         \
            "\"\n.byte 0\n.popsection\n")

SQL_TEXT("store_schema", "store_schema.sql");
SQL_TEXT("store_migrate_1", "store_migrate_1.sql");
SQL_TEXT("store_migrate_1_copy", "store_migrate_1_copy.sql");
SQL_TEXT("store_migrate_2", "store_migrate_2.sql");
