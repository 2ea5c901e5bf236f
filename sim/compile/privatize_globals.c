/* Changing the compiler's assembly: see privatize_globals.h.
 *
 * Two passes over the lines. The first collects the variables: what is defined in a section that
 * may be written. The second writes the lines again, with other sections and other references, and
 * ends with the offsets, which the assembler works out:
 *
 *     simrun.at.x = x - start of the filled section
 *     simrun.at.y = y - start of the zero section + size of the filled section */
#include "sim/compile/privatize_globals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { FSGSBASE = 2 /* of AT_HWCAP2: the instructions are there and allowed */ };

bool separate_possible(void)
{
#if defined __x86_64__
    return getauxval(AT_HWCAP2) & FSGSBASE;
#else
    return false;
#endif
}

/* Where a line of the file lies: code and constants, which ranks share, or one of the two sections.
 */
enum place { SHARED, FILLED, ZERO };

enum { ALIGNMENT_USUAL = 6, ALIGNMENT_MAX = 12 /* powers of two */ };

struct text {
    const char *start;
    size_t length;
};

struct variable {
    struct text name;
    enum place place;
};

struct separator {
    FILE *out; /* NULL in the first pass */
    enum place place;
    struct variable *variables;
    size_t count, room;
    struct text local; /* last one declared so */
    int alignment;
    bool inline_assembly, refused;
    bool changeable; /* some variable is not a constant that holds addresses */
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$';
}

static struct text name_at(const char *at, const char *end)
{
    struct text name = {at, 0};
    while (at + name.length < end && is_name_char(at[name.length]))
        name.length++;
    return name;
}

static bool begins(struct text text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= length && !memcmp(text.start, with, length);
}

static bool is(struct text text, const char *word)
{
    return text.length == strlen(word) && begins(text, word);
}

static bool holds(struct text text, const char *part)
{
    return memmem(text.start, text.length, part, strlen(part));
}

static struct text without_blanks(struct text text)
{
    while (text.length && (*text.start == ' ' || *text.start == '\t')) {
        text.start++;
        text.length--;
    }
    return text;
}

static void put(struct separator *separator, struct text text)
{
    if (separator->out)
        fwrite(text.start, 1, text.length, separator->out);
}

static int by_name(const void *left, const void *right)
{
    struct text a = ((const struct variable *)left)->name,
                b = ((const struct variable *)right)->name;
    int order = memcmp(a.start, b.start, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* In the second pass. */
static const struct variable *variable_find(const struct separator *separator, struct text name)
{
    struct variable wanted = {.name = name};
    return separator->count
               ? bsearch(&wanted, separator->variables, separator->count, sizeof wanted, by_name)
               : NULL;
}

static void variable_add(struct separator *separator, struct text name, enum place place)
{
    if (separator->out || place == SHARED)
        return;
    if (separator->count == separator->room) {
        size_t room = separator->room ? 2 * separator->room : 64;
        struct variable *more = realloc(separator->variables, room * sizeof *more);
        if (!more) {
            separator->refused = true;
            return;
        }
        separator->variables = more;
        separator->room = room;
    }
    separator->variables[separator->count++] = (struct variable){name, place};
}

/* `bytes` is a power of two, or nothing this program knows. */
static void alignment_note(struct separator *separator, unsigned long bytes)
{
    int power = 0;
    while (power <= ALIGNMENT_MAX && 1UL << power < bytes)
        power++;
    separator->refused |= power > ALIGNMENT_MAX;
    if (separator->alignment < power)
        separator->alignment = power;
}

static const char *section_directive(enum place place)
{
    return place == FILLED ? "\t.section " SEPARATE_FILLED ",\"aw\",@progbits\n"
                           : "\t.section " SEPARATE_ZERO ",\"aw\",@nobits\n";
}

static void place_change(struct separator *separator, struct text line, enum place place)
{
    separator->place = place;
    if (place == SHARED)
        put(separator, line);
    else if (separator->out)
        fputs(section_directive(place), separator->out);
}

/* `.section name,"flags",@type`. Writable sections other than the usual are for somebody who looks
 * for them by name. */
static void section_begin(struct separator *separator, struct text line, struct text rest)
{
    struct text name = rest, flags = {"", 0};
    if (name.length && *name.start == '"')
        name = (struct text){rest.start + 1, rest.length - 1};
    name = name_at(name.start, rest.start + rest.length);
    const char *comma = memchr(rest.start, ',', rest.length);
    if (comma) {
        flags = (struct text){comma + 1, (size_t)(rest.start + rest.length - comma - 1)};
        const char *end = memchr(flags.start, ',', flags.length);
        flags.length = end ? (size_t)(end - flags.start) : flags.length;
    }
    bool usual = begins(name, ".data") || begins(name, ".bss");
    bool written = comma ? holds(flags, "w") : usual;
    static const char *const special[] = {".tdata",      ".tbss",  ".preinit_array", ".init_array",
                                          ".fini_array", ".ctors", ".dtors"};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        separator->refused |= begins(name, special[i]);
    separator->refused |= written && (!usual || holds(flags, "T"));
    separator->changeable |= written && !begins(name, ".data.rel.ro");
    place_change(separator, line,
                 !written                                         ? SHARED
                 : begins(name, ".bss") || holds(rest, "@nobits") ? ZERO
                                                                  : FILLED);
}

/* `.comm name,size,alignment`: zeroed, defined on the spot. */
static void common_define(struct separator *separator, struct text rest)
{
    struct text name = name_at(rest.start, rest.start + rest.length);
    unsigned long size, alignment = 1;
    char numbers[64];
    snprintf(numbers, sizeof numbers, "%.*s", (int)(rest.length - name.length),
             rest.start + name.length);
    if (!name.length || sscanf(numbers, ",%lu,%lu", &size, &alignment) < 1) {
        separator->refused = true;
        return;
    }
    alignment_note(separator, alignment);
    variable_add(separator, name, ZERO);
    separator->changeable = true;
    if (!separator->out)
        return;
    bool local = separator->local.length == name.length &&
                 !memcmp(separator->local.start, name.start, name.length);
    int length = (int)name.length;
    fprintf(separator->out, "%s\t.balign %lu\n", section_directive(ZERO), alignment);
    if (!local)
        fprintf(separator->out, "\t.globl %.*s\n", length, name.start);
    fprintf(separator->out, "\t.type %.*s, @object\n\t.size %.*s, %lu\n%.*s:\n\t.zero %lu\n",
            length, name.start, length, name.start, size, length, name.start, size);
    fputs("\t.previous\n", separator->out);
}

static void directive(struct separator *separator, struct text line, struct text words)
{
    struct text name = name_at(words.start, words.start + words.length);
    struct text rest =
        without_blanks((struct text){words.start + name.length, words.length - name.length});
    bool aligns = is(name, ".align") || is(name, ".balign"), power = is(name, ".p2align");
    if (is(name, ".text")) {
        place_change(separator, line, SHARED);
    } else if (is(name, ".data")) {
        separator->changeable = true;
        place_change(separator, line, FILLED);
    } else if (is(name, ".bss")) {
        separator->changeable = true;
        place_change(separator, line, ZERO);
    } else if (is(name, ".section")) {
        section_begin(separator, line, rest);
    } else if (is(name, ".comm")) {
        common_define(separator, rest);
    } else {
        static const char *const unknown[] = {".pushsection", ".popsection", ".previous",
                                              ".subsection",  ".lcomm",      ".include",
                                              ".macro",       ".rept"};
        for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
            separator->refused |= is(name, unknown[i]);
        if (is(name, ".local"))
            separator->local = name_at(rest.start, rest.start + rest.length);
        if (separator->place != SHARED && (aligns || power)) {
            unsigned long value = strtoul(rest.start, NULL, 10);
            alignment_note(separator, power ? value < 32 ? 1UL << value : 1UL << 31 : value);
        }
        put(separator, line);
    }
}

/* Is `text` a 64-bit general register, as "%rax"? */
static bool is_whole_register(struct text text)
{
    static const char *const registers[] = {"%rax", "%rbx", "%rcx", "%rdx", "%rsi",
                                            "%rdi", "%rbp", "%r8",  "%r9",  "%r10",
                                            "%r11", "%r12", "%r13", "%r14", "%r15"};
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (is(text, registers[i]))
            return true;
    return false;
}

/* The parts of an instruction that names a variable: before the expression, the expression around
 * the name, and what follows the "(%rip)". */
struct reference {
    struct text head, before, name, after, tail;
    const struct variable *variable;
};

/* False if the instruction names no variable. */
static bool reference_find(const struct separator *separator, struct text line,
                           struct reference *reference)
{
    static const char base[] = "(%rip)";
    const char *end = memmem(line.start, line.length, base, strlen(base));
    const char *start = end, *stop = line.start + line.length;
    if (!end)
        return false;
    while (start > line.start && !strchr(" \t,*", start[-1]))
        start--;
    for (const char *at = start; at < end; at++) {
        struct text name = name_at(at, end);
        if (!name.length)
            continue;
        reference->variable = variable_find(separator, name);
        if (reference->variable) {
            const char *behind = name.start + name.length;
            reference->head = (struct text){line.start, (size_t)(start - line.start)};
            reference->before = (struct text){start, (size_t)(at - start)};
            reference->name = name;
            reference->after = (struct text){behind, (size_t)(end - behind)};
            reference->tail =
                (struct text){end + strlen(base), (size_t)(stop - end) - strlen(base)};
            return true;
        }
        at += name.length - 1;
    }
    return false;
}

/* The address of a variable into a register: base of the segment, and the offset. */
static void address_take(struct separator *separator, const struct reference *reference,
                         struct text offset)
{
    struct text to = reference->tail;
    if (to.length && *to.start == ',')
        to = without_blanks((struct text){to.start + 1, to.length - 1});
    size_t length = 0;
    while (length < to.length && !strchr(" \t\n", to.start[length]))
        length++;
    to.length = length;
    if (!is_whole_register(to)) {
        separator->refused = true;
        return;
    }
    fprintf(separator->out, "\trdgsbase %.*s\n\tleaq %.*ssimrun.at.%.*s%.*s(%.*s), %.*s\n",
            (int)to.length, to.start, (int)reference->before.length, reference->before.start,
            (int)reference->name.length, reference->name.start, (int)offset.length, offset.start,
            (int)to.length, to.start, (int)to.length, to.start);
}

static void instruction(struct separator *separator, struct text line)
{
    struct reference reference;
    if (holds(line, "%gs"))
        separator->refused = true;
    if (!separator->out || !reference_find(separator, line, &reference)) {
        put(separator, line);
        return;
    }
    struct text mnemonic = without_blanks(reference.head);
    mnemonic = name_at(mnemonic.start, mnemonic.start + mnemonic.length);
    bool slot = holds(reference.after, "@");
    if (slot && (!is(reference.after, "@GOTPCREL") || !is(mnemonic, "movq")))
        separator->refused = true;
    else if (slot)
        address_take(separator, &reference, (struct text){"", 0});
    else if (begins(mnemonic, "lea"))
        address_take(separator, &reference, reference.after);
    else
        fprintf(separator->out, "%.*s%%gs:%.*ssimrun.at.%.*s%.*s%.*s", (int)reference.head.length,
                reference.head.start, (int)reference.before.length, reference.before.start,
                (int)reference.name.length, reference.name.start, (int)reference.after.length,
                reference.after.start, (int)reference.tail.length, reference.tail.start);
}

/* Of what a program wrote into its own assembly only instructions that touch nothing of its data by
 * name are understood. */
static void line_of_inline_assembly(struct separator *separator, struct text line,
                                    struct text words)
{
    if (holds(line, "(%rip)") || holds(line, "%gs") || (words.length && *words.start == '.'))
        separator->refused = true;
    put(separator, line);
}

static void walk(struct separator *separator, const char *assembly)
{
    separator->place = SHARED;
    separator->inline_assembly = false;
    for (const char *at = assembly; *at && !separator->refused;) {
        size_t length = strcspn(at, "\n");
        struct text line = {at, length + (at[length] == '\n')}, words = without_blanks(line);
        struct text label = name_at(at, at + length);
        at += line.length;
        if (begins(words, "#APP"))
            separator->inline_assembly = true;
        else if (begins(words, "#NO_APP"))
            separator->inline_assembly = false;
        if (separator->inline_assembly) {
            line_of_inline_assembly(separator, line, words);
        } else if (label.length && label.start[label.length] == ':') {
            variable_add(separator, label, separator->place);
            put(separator, line);
        } else if (words.length && *words.start == '.') {
            directive(separator, line, words);
        } else {
            instruction(separator, line);
        }
    }
}

/* Neither section is empty, so that the linker keeps both. */
static void offsets_write(struct separator *separator)
{
    fprintf(separator->out, "%s\t.zero 1\n%s\t.zero 1\n\t.p2align %d\nsimrun.filled.end:\n",
            section_directive(ZERO), section_directive(FILLED), separator->alignment);
    for (size_t i = 0; i < separator->count; i++) {
        struct text name = separator->variables[i].name;
        fprintf(separator->out, "\t.set simrun.at.%.*s, %.*s - simrun.%s\n", (int)name.length,
                name.start, (int)name.length, name.start,
                separator->variables[i].place == FILLED
                    ? "filled.start"
                    : "zero.start + (simrun.filled.end - simrun.filled.start)");
    }
}

char *separate_assembly(const char *assembly)
{
    struct separator separator = {.alignment = ALIGNMENT_USUAL};
    char *text = NULL;
    size_t size = 0;
    walk(&separator, assembly);
    separator.refused |= !separator.changeable;
    if (!separator.refused)
        separator.out = open_memstream(&text, &size);
    if (separator.out) {
        if (separator.count)
            qsort(separator.variables, separator.count, sizeof *separator.variables, by_name);
        fprintf(separator.out,
                "%s\t.p2align %d\nsimrun.filled.start:\n%s\t.p2align %d\n"
                "simrun.zero.start:\n\t.text\n",
                section_directive(FILLED), separator.alignment, section_directive(ZERO),
                separator.alignment);
        walk(&separator, assembly);
        offsets_write(&separator);
        separator.refused |= ferror(separator.out) != 0;
        separator.refused |= fclose(separator.out) != 0;
    }
    free(separator.variables);
    if (separator.refused) {
        free(text);
        return NULL;
    }
    return text;
}
