/* Findings, their operations, and coverage: see writer.h. */
#include "traces/store/writer.h"
#include "traces/trace/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void store_write_coverage(struct writer *writer, const struct coverage *coverage)
{
    if (!writer_begin(writer,
                      "INSERT INTO coverage(run_id,ord,check_name,count,text) VALUES(?,?,?,?,?)"))
        return;
    writer_number(writer, 1, writer->ids.run);
    for (size_t i = 0; i < coverage->count; i++) {
        writer_number(writer, 2, (int64_t)i);
        writer_text(writer, 3, coverage->gaps[i].check);
        writer_number(writer, 4,
                      coverage->gaps[i].count > INT64_MAX ? INT64_MAX
                                                          : (int64_t)coverage->gaps[i].count);
        writer_text(writer, 5, coverage->gaps[i].text);
        if (!writer_row(writer))
            break;
    }
    writer_end(writer);
}

static char *edges_text(const struct writer *writer, const struct finding *finding)
{
    size_t size = finding->repair_count * 44 + 4, used;
    char *text = finding->repair_count ? malloc(size) : NULL;
    if (!text)
        return NULL;
    used = (size_t)snprintf(text, size, "[");
    for (size_t i = 0; i < finding->repair_count; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s[%lld,%lld,%u]", i ? "," : "",
                             (long long)(writer->ids.first_node + finding->repair_edges[i].from),
                             (long long)(writer->ids.first_node + finding->repair_edges[i].to),
                             finding->repair_edges[i].type);
    snprintf(text + used, size - used, "]");
    return text;
}

static void write_finding_ops(struct writer *writer, const struct finding *finding, int64_t id)
{
    sqlite3_stmt *outer = writer->insert;
    if (writer_begin(
            writer,
            "INSERT INTO finding_ops(finding_id,ord,op_id,role,node_id) VALUES(?,?,?,?,?)")) {
        writer_number(writer, 1, id);
        for (size_t i = 0; i < finding->op_count; i++) {
            const struct finding_op *place = &finding->ops[i];
            writer_number(writer, 2, (int64_t)i);
            writer_index(writer, 3, place->op, writer->op_count, writer->ids.first_op);
            writer_text(writer, 4, place->role);
            writer_index(writer, 5, place->node, writer->node_count, writer->ids.first_node);
            if (!writer_row(writer))
                break;
        }
        writer_end(writer);
    }
    writer->insert = outer;
}

/* The id of the finding that this one follows from; roots are written before. */
static void bind_root(struct writer *writer, int at, const struct findings *findings, size_t index,
                      const int64_t *ids)
{
    sqlite3_bind_null(writer->insert, at);
    for (size_t i = 0; index >= findings->count && i < findings->count; i++)
        if (!strcmp(findings->items[i].fingerprint, findings->items[index].root))
            writer_number(writer, at, ids[i]);
}

void store_write_findings(struct writer *writer, const struct findings *findings)
{
    if (!findings ||
        !writer_begin(writer, "INSERT INTO findings(run_id,code,severity,fingerprint,title,detail,"
                              "site_id,witness,repair,repair_edges,confirmation,models,inherited,"
                              "allowed,root,because) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"))
        return;
    int64_t *ids = calloc(findings->count + 1, sizeof *ids);
    if (!ids)
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "out of memory for findings");
    for (size_t i = 0; i < findings->count + findings->folded && !writer->code; i++) {
        const struct finding *finding = &findings->items[i];
        char *edges = edges_text(writer, finding);
        writer_number(writer, 1, writer->ids.run);
        writer_text(writer, 2, finding->code);
        writer_text(writer, 3, trace_severity_names[finding->severity]);
        writer_text(writer, 4, finding->fingerprint);
        writer_text(writer, 5, finding->title);
        writer_text(writer, 6, finding->detail);
        writer_site(writer, 7, finding->site);
        writer_optional(writer, 8, finding->witness);
        writer_optional(writer, 9, finding->repair);
        writer_optional(writer, 10, edges);
        writer_number(writer, 11, finding->confirmation);
        writer_text(writer, 12, finding->models);
        writer_number(writer, 13, finding->inherited);
        writer_number(writer, 14, finding->allowed);
        bind_root(writer, 15, findings, i, ids);
        writer_optional(writer, 16, finding->because[0] ? finding->because : NULL);
        free(edges);
        if (!writer_row(writer))
            break;
        int64_t id = sqlite3_last_insert_rowid(writer->store->db);
        if (i < findings->count)
            ids[i] = id;
        write_finding_ops(writer, finding, id);
    }
    free(ids);
    writer_end(writer);
}
