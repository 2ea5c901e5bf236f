/* diff_adolc.hpp: MPI on arrays of ADOL-C's adoubles, in C++.
 *
 * Include it after <adolc/adolc.h>: calls of MPI on `adouble *` (diff_tool.hpp lists them) are recorded
 * on the active trace and run their adjoints in fos_reverse; zos_forward runs them again. Trace with
 * keep 1 and call fos_reverse at once, or let a driver do both. diff_adolc_clear() before the next
 * trace, diff_adolc_free() before MPI_Finalize. */
#ifndef DIFF_ADOLC_HPP
#define DIFF_ADOLC_HPP

#include <diff_tool.hpp>

template <> struct diff_tool_binding<adouble> {
    static const bool active = true;

    struct state {
        struct diff_tool *tool;
        ext_diff_fct *edf;
        std::vector<diff_tool_call> calls;
    };

    static state &own()
    {
        static state one = {nullptr, nullptr, {}};
        return one;
    }

    /* The last number of x is that of the call. */
    static diff_tool_call &call_of(int n, const double *x)
    {
        return own().calls[(size_t)x[n - 1]];
    }

    static int forward(int n, double *x, int, double *y)
    {
        diff_tool_call &call = call_of(n, x);
        for (int i = (int)call.y_count; i < n; i++)
            y[i] = 0;
        call.forward(own().tool, x, y);
        return 1;
    }

    static int reverse(int, double *y_bar, int n, double *x_bar, double *x, double *)
    {
        for (int i = 0; i < n; i++)
            x_bar[i] = 0;
        diff_tool_reverse(own().tool, call_of(n, x).number, y_bar, x_bar);
        return 1;
    }

    static void begin(state &all)
    {
        all.tool = diff_tool_new(MPI_COMM_WORLD);
        all.edf = reg_ext_fct(forward);
        all.edf->zos_forward = forward;
        all.edf->fos_reverse = reverse;
        all.edf->nestedAdolc = false;
        all.edf->dp_x_changes = false;
    }

    static void run(const diff_tool_call &call, const adouble *x, adouble *y)
    {
        state &all = own();
        if (!all.tool)
            begin(all);
        all.calls.push_back(call);
        /* As many results as arguments: ADOL-C 2.7 loses adjoints of other calls where they differ. */
        size_t n = call.x_count + 1 > call.y_count ? call.x_count + 1 : call.y_count;
        ensureContiguousLocations(n);
        adouble *in = new adouble[n];
        ensureContiguousLocations(n);
        adouble *out = new adouble[n];
        for (size_t i = 0; i < n; i++) {
            in[i] = 0;
            out[i] = 0;
        }
        for (size_t i = 0; i < call.x_count; i++)
            in[i] = x[i];
        in[n - 1] = (double)(all.calls.size() - 1);
        for (size_t i = 0; i < call.y_count; i++)
            out[i] = y[i];
        call_ext_fct(all.edf, (int)n, in, (int)n, out);
        for (size_t i = 0; i < call.y_count; i++)
            y[i] = out[i];
        delete[] in;
        delete[] out;
    }
};

inline void diff_adolc_clear()
{
    diff_tool_binding<adouble>::own().calls.clear();
    if (diff_tool_binding<adouble>::own().tool)
        diff_tool_clear(diff_tool_binding<adouble>::own().tool);
}

/* Collective over MPI_COMM_WORLD; the first call on adoubles does it else, on each rank: needed where
 * some ranks make none. */
inline void diff_adolc_begin()
{
    if (!diff_tool_binding<adouble>::own().tool)
        diff_tool_binding<adouble>::begin(diff_tool_binding<adouble>::own());
}

inline void diff_adolc_free()
{
    diff_adolc_clear();
    diff_tool_free(diff_tool_binding<adouble>::own().tool);
    diff_tool_binding<adouble>::own().tool = nullptr;
}

#endif
