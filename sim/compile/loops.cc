/* Code of instrumented programs that runs at its own speed: a plugin of gcc's.
 *
 * Under -fsanitize=thread every load and store calls a function, also where nothing is under way
 * that it could disturb; a loop that computes is ten times slower. This plugin gives code two
 * bodies, one that tells its accesses and one that does not, and a question in front of it:
 *
 *  - Of a function, or a nest of loops, that calls nothing unknown: is the rank quiet
 *    (__simrun_quiet)? Then nothing within can be an error: what begins an operation is a call.
 *  - Of an innermost loop, where the rank is not: may this stretch be read, or written
 *    (__simrun_safe)? For each access whose address grows by a constant, over all rounds.
 *
 * Method: before gcc instruments a function (pass "tsan"), loops are copied; after it, the calls in
 * the bodies that do not tell are taken out. What gcc itself does in between stays its affair.
 *
 * With another compiler than the one it was built for, the plugin does nothing. */
/* They stand on one another. */
/* clang-format off */
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "context.h"
#include "ssa.h"
#include "cfghooks.h"
#include "cfgloop.h"
#include "cgraph.h"
#include "fold-const.h"
#include "gimple-iterator.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "profile-count.h"
#include "tree-cfg.h"
#include "tree-data-ref.h"
#include "tree-into-ssa.h"
#include "tree-scalar-evolution.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-manip.h"
#include "stringpool.h"
#include "attribs.h"
#include "asan.h"
/* clang-format on */

int plugin_is_GPL_compatible;

namespace
{

/* A loop of fewer rounds is not worth a question; one with more accesses is asked too much. */
enum { ROUNDS_MIN = 8, ACCESSES_MAX = 16 };

/* A function of fewer accesses is not worth a question, one of more statements not worth two bodies. */
enum { FUNCTION_ACCESSES_MIN = 3, FUNCTION_STATEMENTS_MAX = 4000 };

hash_set<basic_block> silent; /* bodies of the present function that do not tell */
hash_set<tree> *closed;       /* functions of this source that call nothing unknown */
hash_set<tree> *bodies;       /* those of OpenMP regions */

bool instruments()
{
    return flag_sanitize & SANITIZE_THREAD;
}

bool begins_with(const char *name, const char *beginning)
{
    return !strncmp(name, beginning, strlen(beginning));
}

/* The name of a function of gcc's own, however the source calls it. */
const char *builtin_name(const gimple *call)
{
    static const char prefix[] = "__builtin_";
    const char *name = IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(call)));
    return begins_with(name, prefix) ? name + sizeof prefix - 1 : name;
}

/* Of gcc's own functions those return without having called the program. Where threads of a team
 * meet, they may be given tasks. */
bool returns_alone(const gimple *call)
{
    static const char *const others[] = {"GOMP_", "GOACC_", "omp_", "apply"};
    if (!gimple_call_builtin_p(call, BUILT_IN_NORMAL) ||
        (gimple_call_flags(call) & (ECF_RETURNS_TWICE | ECF_NORETURN)))
        return false;
    const char *name = builtin_name(call);
    if (begins_with(name, "GOMP_critical_") || begins_with(name, "GOMP_atomic_") ||
        (begins_with(name, "GOMP_loop_") && (!strstr(name, "_end") || strstr(name, "_nowait"))))
        return true;
    for (const char *other : others)
        if (begins_with(name, other))
            return false;
    return true;
}

/* What can neither begin an operation nor end one. */
bool harmless(const gimple *statement)
{
    if (gimple_code(statement) == GIMPLE_ASM)
        return false;
    if (!is_gimple_call(statement) || gimple_call_internal_p(statement))
        return true;
    tree function = gimple_call_fndecl(statement);
    return (gimple_call_flags(statement) & (ECF_CONST | ECF_PURE)) || returns_alone(statement) ||
           (function && closed->contains(DECL_ORIGIN(function)));
}

bool calls_unknown(function *f)
{
    basic_block block;
    FOR_EACH_BB_FN(block, f)
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
        if (!harmless(gsi_stmt(at)))
            return true;
    return false;
}

/* What is called to run regions is given their bodies. */
void find_bodies(function *f)
{
    basic_block block;
    FOR_EACH_BB_FN(block, f)
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        const gimple *call = gsi_stmt(at);
        if (!gimple_call_builtin_p(call, BUILT_IN_NORMAL) ||
            !begins_with(builtin_name(call), "GOMP_parallel"))
            continue;
        tree body = gimple_call_arg(call, 0);
        if (TREE_CODE(body) == ADDR_EXPR)
            bodies->add(TREE_OPERAND(body, 0));
    }
}

/* Before functions are cloned and inlined: all might be closed, until one is seen to call another
 * that is not. What another source can replace is none of this source's. */
void find_closed(void *, void *)
{
    cgraph_node *node;
    bool changed = true;
    FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node)
    {
        if (!DECL_WEAK(node->decl) || DECL_COMDAT(node->decl))
            closed->add(node->decl);
        find_bodies(DECL_STRUCT_FUNCTION(node->decl));
    }
    while (changed) {
        changed = false;
        FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node)
        if (closed->contains(node->decl) && calls_unknown(DECL_STRUCT_FUNCTION(node->decl))) {
            closed->remove(node->decl);
            changed = true;
        }
    }
}

bool strange(const basic_block block)
{
    edge each;
    edge_iterator at;
    FOR_EACH_EDGE(each, at, block->succs)
    if (each->flags & EDGE_COMPLEX)
        return true;
    return block->flags & BB_IRREDUCIBLE_LOOP;
}

/* Whether a nest may have a second body, and there is something in it to tell. */
enum answer { NO, NOTHING, YES };
answer splits(class loop *loop)
{
    if (!can_duplicate_loop_p(loop))
        return NO;
    answer found = NOTHING;
    basic_block *body = get_loop_body(loop);
    for (unsigned i = 0; i < loop->num_nodes && found != NO; i++) {
        if (strange(body[i]))
            found = NO;
        for (gimple_stmt_iterator at = gsi_start_bb(body[i]); !gsi_end_p(at) && found != NO;
             gsi_next(&at)) {
            if (!harmless(gsi_stmt(at)))
                found = NO;
            else if (gimple_vuse(gsi_stmt(at)))
                found = YES;
        }
    }
    free(body);
    return found;
}

/* The outermost of those that may. */
void nests(class loop *loop, vec<class loop *> *found)
{
    for (; loop; loop = loop->next) {
        answer answer = splits(loop);
        if (answer == YES)
            found->safe_push(loop);
        else if (answer == NO)
            nests(loop->inner, found);
    }
}

void innermost(class loop *loop, vec<class loop *> *found)
{
    if (!loop->inner)
        found->safe_push(loop);
    for (class loop *inner = loop->inner; inner; inner = inner->next)
        innermost(inner, found);
}

/* A function of the launcher's: it changes nothing that the program sees. */
tree launchers(const char *name, tree type)
{
    tree function = build_fn_decl(name, type);
    TREE_NOTHROW(function) = 1;
    DECL_PURE_P(function) = 1;
    return function;
}

bool is_silent(const class loop *loop)
{
    return silent.contains(loop->header);
}

/* The loop runs with its body silent where `condition` holds, else a copy of it tells. */
class loop *split(class loop *loop, tree condition)
{
    const profile_probability yes = profile_probability::likely(), no = yes.invert();
    basic_block where;
    initialize_original_copy_tables();
    class loop *telling = loop_version(loop, condition, &where, yes, no, yes, no, true);
    free_original_copy_tables();
    if (!telling)
        return NULL;
    basic_block *body = get_loop_body(loop);
    for (unsigned i = 0; i < loop->num_nodes; i++)
        silent.add(body[i]);
    free(body);
    return telling;
}

/* Whether all threads that run the present function are threads of one team that run no other. */
tree of_team(void)
{
    tree function = DECL_ORIGIN(current_function_decl);
    bool team = bodies->contains(function) && closed->contains(function);
    return build_int_cst(integer_type_node, team);
}

tree ask(gimple_seq *before, gcall *call)
{
    tree answer = make_ssa_name(integer_type_node);
    gimple_call_set_lhs(call, answer);
    gimple_seq_add_stmt(before, call);
    return answer;
}

tree holds(tree answer)
{
    return fold_build2(NE_EXPR, boolean_type_node, answer, integer_zero_node);
}

tree ask_quiet(gimple_seq *before)
{
    tree type = build_function_type_list(integer_type_node, integer_type_node, NULL_TREE);
    return ask(before, gimple_build_call(launchers("__simrun_quiet", type), 1, of_team()));
}

class loop *split_nest(class loop *loop)
{
    gimple_seq before = NULL;
    tree answer = ask_quiet(&before);
    gsi_insert_seq_on_edge_immediate(loop_preheader_edge(loop), before);
    return split(loop, holds(answer));
}

/* The stretch that one access runs through. */
struct stretch {
    innermost_loop_behavior address;
    HOST_WIDE_INT size;
    bool written;
};

/* What an operand of an assignment touches. False: nobody knows. */
bool stretch_of(class loop *loop, gimple *statement, tree operand, bool written,
                vec<stretch> *found)
{
    stretch touched;
    if (!operand || is_gimple_val(operand) || TREE_CODE(operand) == CONSTRUCTOR ||
        !(REFERENCE_CLASS_P(operand) || DECL_P(operand)))
        return true;
    tree base = get_base_address(operand);
    if (base && DECL_P(base) && !is_global_var(base) && !TREE_ADDRESSABLE(base))
        return true;
    if (TREE_THIS_VOLATILE(operand) || found->length() == ACCESSES_MAX)
        return false;
    tree size = TYPE_SIZE_UNIT(TREE_TYPE(operand));
    if (!size || !tree_fits_shwi_p(size) ||
        !dr_analyze_innermost(&touched.address, operand, loop, statement) ||
        TREE_CODE(touched.address.step) != INTEGER_CST)
        return false;
    touched.size = tree_to_shwi(size);
    touched.written = written;
    found->safe_push(touched);
    return true;
}

bool stretches(class loop *loop, vec<stretch> *found)
{
    bool known = true;
    basic_block *body = get_loop_body(loop);
    for (unsigned i = 0; i < loop->num_nodes && known; i++)
        for (gimple_stmt_iterator at = gsi_start_bb(body[i]); !gsi_end_p(at) && known;
             gsi_next(&at)) {
            gimple *statement = gsi_stmt(at);
            if (!gimple_vuse(statement) || is_gimple_debug(statement))
                continue;
            known = gimple_assign_single_p(statement) &&
                    stretch_of(loop, statement, gimple_assign_rhs1(statement), false, found) &&
                    stretch_of(loop, statement, gimple_assign_lhs(statement), true, found);
        }
    free(body);
    return known && found->length();
}

/* The first address, how far it moves in all, and the bytes at each place. */
tree ask_stretch(gimple_seq *before, const stretch *touched, tree rounds)
{
    const innermost_loop_behavior *address = &touched->address;
    tree type =
        build_function_type_list(integer_type_node, ptr_type_node, ssizetype, ssizetype, NULL_TREE);
    tree offset = fold_build2(PLUS_EXPR, ssizetype, fold_convert(ssizetype, address->offset),
                              fold_convert(ssizetype, address->init));
    tree first =
        fold_build_pointer_plus(fold_convert(ptr_type_node, address->base_address), offset);
    tree moves = fold_build2(MULT_EXPR, ssizetype, fold_convert(ssizetype, rounds),
                             fold_convert(ssizetype, address->step));
    tree bytes = build_int_cst(ssizetype, touched->written ? -touched->size : touched->size);
    gimple_seq sequence = NULL;
    first = force_gimple_operand(unshare_expr(first), &sequence, true, NULL_TREE);
    gimple_seq_add_seq(before, sequence);
    moves = force_gimple_operand(unshare_expr(moves), &sequence, true, NULL_TREE);
    gimple_seq_add_seq(before, sequence);
    return ask(before, gimple_build_call(launchers("__simrun_safe", type), 4, first, moves, bytes,
                                         of_team()));
}

void split_innermost(class loop *loop)
{
    auto_vec<stretch> found;
    tree rounds = number_of_latch_executions(loop);
    if (!rounds || chrec_contains_undetermined(rounds) || TREE_CODE(rounds) == COND_EXPR ||
        (tree_fits_uhwi_p(rounds) && tree_to_uhwi(rounds) < ROUNDS_MIN) || !stretches(loop, &found))
        return;
    gimple_seq before = NULL;
    tree all = NULL_TREE;
    for (unsigned i = 0; i < found.length(); i++) {
        tree answer = ask_stretch(&before, &found[i], rounds);
        if (!all) {
            all = answer;
            continue;
        }
        tree both = make_ssa_name(integer_type_node);
        gimple_seq_add_stmt(&before, gimple_build_assign(both, BIT_AND_EXPR, all, answer));
        all = both;
    }
    gsi_insert_seq_on_edge_immediate(loop_preheader_edge(loop), before);
    split(loop, holds(all));
}

/* Whether the whole function may have a second body, and it is worth that. */
bool splits_whole(function *f)
{
    unsigned accesses = 0, statements = 0;
    basic_block block;
    FOR_EACH_BB_FN(block, f)
    {
        if (strange(block))
            return false;
        for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
            if (!harmless(gsi_stmt(at)))
                return false;
            statements += !is_gimple_debug(gsi_stmt(at));
            accesses += gimple_vuse(gsi_stmt(at)) && gimple_assign_single_p(gsi_stmt(at));
        }
    }
    return accesses >= FUNCTION_ACCESSES_MIN && statements <= FUNCTION_STATEMENTS_MAX;
}

/* Entry, gate, then one body or the other: the second is a copy of all that is there now. */
bool split_whole(function *f)
{
    basic_block gate = split_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(f)));
    basic_block start = split_edge(single_succ_edge(gate)), block;
    auto_vec<basic_block> body, copies;
    auto_vec<class loop *> loops;
    class loop *const root = current_loops->tree_root;
    FOR_EACH_BB_FN(block, f)
    if (block != gate)
        body.safe_push(block);
    for (class loop *loop = root->inner; loop; loop = loop->next)
        loops.safe_push(loop);
    if (!can_copy_bbs_p(body.address(), body.length()))
        return false;
    copies.safe_grow_cleared(body.length());
    free_dominance_info(CDI_DOMINATORS);
    free_dominance_info(CDI_POST_DOMINATORS);
    initialize_original_copy_tables();
    for (class loop *loop : loops)
        duplicate_subloops(loop, duplicate_loop(loop, root));
    copy_bbs(body.address(), body.length(), copies.address(), NULL, 0, NULL,
             current_loops->tree_root, body.last(), false);
    add_phi_args_after_copy(copies.address(), copies.length(), NULL);
    basic_block second = get_bb_copy(start);
    free_original_copy_tables();

    gimple_seq sequence = NULL;
    tree answer = ask_quiet(&sequence);
    gimple_seq_add_stmt(
        &sequence, gimple_build_cond(NE_EXPR, answer, integer_zero_node, NULL_TREE, NULL_TREE));
    gimple_stmt_iterator end = gsi_last_bb(gate);
    gsi_insert_seq_after(&end, sequence, GSI_NEW_STMT);
    edge yes = single_succ_edge(gate), no = make_edge(gate, second, EDGE_FALSE_VALUE);
    yes->flags = (yes->flags & ~EDGE_FALLTHRU) | EDGE_TRUE_VALUE;
    yes->probability = profile_probability::likely();
    no->probability = yes->probability.invert();
    for (unsigned i = 0; i < body.length(); i++)
        silent.add(body[i]);
    loops_state_set(LOOPS_NEED_FIXUP);
    update_ssa(TODO_update_ssa);
    return true;
}

void tell_range(gimple_stmt_iterator *at, built_in_function code, tree address, tree size)
{
    gcall *call = gimple_build_call(builtin_decl_implicit(code), 2, address, size);
    gimple_set_location(call, gimple_location(gsi_stmt(*at)));
    gsi_insert_before(at, call, GSI_SAME_STMT);
}

/* What reads or writes text by a name of gcc's own, as the function of libc that it is; NULL: another. */
const char *of_libc(built_in_function code)
{
    switch (code) {
    case BUILT_IN_MEMCHR:
        return "memchr";
    case BUILT_IN_STRLEN:
        return "strlen";
    case BUILT_IN_STRNLEN:
        return "strnlen";
    case BUILT_IN_STRCMP:
    case BUILT_IN_STRCMP_EQ:
        return "strcmp";
    case BUILT_IN_STRNCMP:
    case BUILT_IN_STRNCMP_EQ:
        return "strncmp";
    case BUILT_IN_STRCASECMP:
        return "strcasecmp";
    case BUILT_IN_STRNCASECMP:
        return "strncasecmp";
    case BUILT_IN_STRCHR:
        return "strchr";
    case BUILT_IN_STRRCHR:
        return "strrchr";
    case BUILT_IN_STRSTR:
        return "strstr";
    case BUILT_IN_STRCPY:
        return "strcpy";
    case BUILT_IN_STPCPY:
        return "stpcpy";
    case BUILT_IN_STRNCPY:
        return "strncpy";
    case BUILT_IN_STRCAT:
        return "strcat";
    case BUILT_IN_STRNCAT:
        return "strncat";
    default:
        return NULL;
    }
}

/* A call that gcc knows nothing about stays a call, which the launcher sees. */
void make_plain(gimple_stmt_iterator *at, const char *name)
{
    gcall *call = as_a<gcall *>(gsi_stmt(*at));
    tree known = gimple_call_fndecl(call);
    tree plain = build_fn_decl(name, TREE_TYPE(known));
    DECL_PURE_P(plain) = DECL_PURE_P(known);
    TREE_NOTHROW(plain) = 1;
    gimple_call_set_fndecl(call, plain);
    update_stmt(call);
}

/* What moves memory by a name of gcc's own, gcc may expand, and does not instrument. */
void tell_moves(function *f)
{
    const built_in_function read = BUILT_IN_TSAN_READ_RANGE, write = BUILT_IN_TSAN_WRITE_RANGE;
    basic_block block;
    FOR_EACH_BB_FN(block, f)
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        gimple *call = gsi_stmt(at);
        if (!gimple_call_builtin_p(call, BUILT_IN_NORMAL))
            continue;
        const built_in_function code = DECL_FUNCTION_CODE(gimple_call_fndecl(call));
        const bool moves =
            code == BUILT_IN_MEMCPY || code == BUILT_IN_MEMMOVE || code == BUILT_IN_MEMPCPY;
        const bool compares = code == BUILT_IN_MEMCMP || code == BUILT_IN_MEMCMP_EQ;
        if (moves || compares)
            tell_range(&at, read, gimple_call_arg(call, 1), gimple_call_arg(call, 2));
        if (moves || compares || code == BUILT_IN_MEMSET)
            tell_range(&at, compares ? read : write, gimple_call_arg(call, 0),
                       gimple_call_arg(call, 2));
        if (of_libc(code))
            make_plain(&at, of_libc(code));
    }
}

unsigned split_code(function *f)
{
    silent.empty();
    tell_moves(f);
    update_ssa(TODO_update_ssa_only_virtuals);
    if (f->calls_setjmp) /* it may come back where it was not called */
        return 0;
    const bool whole = current_loops && splits_whole(f) && split_whole(f);
    loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
    if (number_of_loops(f) > 1) {
        auto_vec<class loop *> outer, inner;
        rewrite_into_loop_closed_ssa(NULL, TODO_update_ssa);
        nests(current_loops->tree_root->inner, &outer);
        for (unsigned i = 0; i < outer.length(); i++) {
            class loop *telling = whole ? outer[i] : split_nest(outer[i]);
            if (telling && !is_silent(telling))
                innermost(telling, &inner);
        }
        update_ssa(TODO_update_ssa);
        scev_initialize();
        for (unsigned i = 0; i < inner.length(); i++)
            split_innermost(inner[i]);
        scev_finalize();
        update_ssa(TODO_update_ssa);
    }
    loop_optimizer_finalize();
    return 0;
}

/* A call that tells an access, but not one that also does it. */
bool tells(const gimple *statement)
{
    static const char *const beginnings[] = {"read", "write", "volatile", "unaligned"};
    const char prefix[] = "__tsan_";
    tree function = is_gimple_call(statement) ? gimple_call_fndecl(statement) : NULL_TREE;
    const char *name =
        function && DECL_NAME(function) ? IDENTIFIER_POINTER(DECL_NAME(function)) : "";
    name = strstr(name, prefix);
    for (const char *beginning : beginnings)
        if (name && begins_with(name + sizeof prefix - 1, beginning))
            return true;
    return false;
}

/* With what was there only to make its argument. */
void take_out(gimple_stmt_iterator *at)
{
    gimple *call = gsi_stmt(*at);
    auto_vec<tree> unused;
    for (unsigned i = 0; i < gimple_call_num_args(call); i++)
        unused.safe_push(gimple_call_arg(call, i));
    unlink_stmt_vdef(call);
    gsi_remove(at, true);
    release_defs(call);
    while (!unused.is_empty()) {
        tree value = unused.pop();
        if (!value || TREE_CODE(value) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF(value) ||
            !has_zero_uses(value))
            continue;
        gimple *maker = SSA_NAME_DEF_STMT(value);
        if (!is_gimple_assign(maker) || gimple_vuse(maker))
            continue;
        for (unsigned i = 1; i < gimple_num_ops(maker); i++)
            unused.safe_push(gimple_op(maker, i));
        gimple_stmt_iterator there = gsi_for_stmt(maker);
        gsi_remove(&there, true); /* it stands before the call */
        release_defs(maker);
    }
}

unsigned silence(function *f)
{
    basic_block block;
    FOR_EACH_BB_FN(block, f)
    if (silent.contains(block))
        for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at);) {
            if (tells(gsi_stmt(at)))
                take_out(&at);
            else
                gsi_next(&at);
        }
    silent.empty();
    return 0;
}

const pass_data splitting = {
    GIMPLE_PASS, "simrun_split", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0};
const pass_data moving = {GIMPLE_PASS,
                          "simrun_moves",
                          OPTGROUP_NONE,
                          TV_NONE,
                          PROP_ssa | PROP_cfg,
                          0,
                          0,
                          0,
                          TODO_update_ssa_only_virtuals};
const pass_data silencing = {GIMPLE_PASS,
                             "simrun_silence",
                             OPTGROUP_NONE,
                             TV_NONE,
                             PROP_ssa | PROP_cfg,
                             0,
                             0,
                             0,
                             TODO_update_ssa_only_virtuals};

class split_pass : public gimple_opt_pass
{
  public:
    split_pass() : gimple_opt_pass(splitting, g)
    {
    }
    bool gate(function *) override
    {
        return instruments();
    }
    unsigned execute(function *f) override
    {
        return split_code(f);
    }
};

/* Without optimisation: loops run as they stand. */
class move_pass : public gimple_opt_pass
{
  public:
    move_pass() : gimple_opt_pass(moving, g)
    {
    }
    bool gate(function *) override
    {
        return instruments();
    }
    unsigned execute(function *f) override
    {
        initialize_sanitizer_builtins(); /* the Fortran compiler has them later than this */
        tell_moves(f);
        return 0;
    }
};

class silence_pass : public gimple_opt_pass
{
  public:
    silence_pass() : gimple_opt_pass(silencing, g)
    {
    }
    bool gate(function *) override
    {
        return !silent.is_empty();
    }
    unsigned execute(function *f) override
    {
        return silence(f);
    }
};

} // namespace

int plugin_init(plugin_name_args *info, plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version))
        return 0;
    static const char tsan[] = "tsan", tsan_plain[] = "tsan0";
    closed = new hash_set<tree>;
    bodies = new hash_set<tree>;
    register_pass_info before = {new split_pass, tsan, 1, PASS_POS_INSERT_BEFORE};
    register_pass_info after = {new silence_pass, tsan, 1, PASS_POS_INSERT_AFTER};
    register_pass_info plain = {new move_pass, tsan_plain, 1, PASS_POS_INSERT_BEFORE};
    register_callback(info->base_name, PLUGIN_ALL_IPA_PASSES_START, find_closed, NULL);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &before);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &after);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &plain);
    return 0;
}
