/* diff_rad.hpp: MPI on arrays of Sacado's reverse-mode numbers, Sacado::Rad::ADvar<double>, in C++.
 *
 * Include it after <Sacado_trad.hpp>: calls of MPI on arrays of them are listed in diff_tool.hpp. Rad
 * cannot call back, so that its sweep is run once for every call of MPI, newest first, and once more:
 * call diff_rad_gradient(loss) instead of ADvar::Outvar_Gradcomp, and read adj() after it. */
#ifndef DIFF_RAD_HPP
#define DIFF_RAD_HPP

#include <diff_tool.hpp>

typedef Sacado::Rad::ADvar<double> diff_rad;

template <> struct diff_tool_binding<diff_rad> {
    static const bool active = true;

    /* A call with what it sent, and what it gave: independent variables of the numbers behind it. */
    struct kept {
        diff_tool_call call;
        diff_rad *x, *y;
    };
    struct state {
        struct diff_tool *tool;
        std::vector<kept> calls;
    };

    static state &own()
    {
        static state one = {nullptr, {}};
        return one;
    }

    static void begin(state &all)
    {
        if (!all.tool)
            all.tool = diff_tool_new(MPI_COMM_WORLD);
    }

    static void run(const diff_tool_call &call, const diff_rad *x, diff_rad *y)
    {
        state &all = own();
        begin(all);
        kept one = {call, new diff_rad[call.x_count + 1], new diff_rad[call.y_count + 1]};
        std::vector<double> sent(call.x_count + 1), got(call.y_count + 1);
        for (size_t i = 0; i < call.x_count; i++) {
            one.x[i] = x[i];
            sent[i] = x[i].val();
        }
        one.call.forward(all.tool, sent.data(), got.data());
        for (size_t i = 0; i < call.y_count; i++) {
            one.y[i] = got[i];
            y[i] = one.y[i];
        }
        all.calls.push_back(one);
    }

    static void sweep(std::vector<diff_rad *> &roots, std::vector<double> &weights)
    {
        diff_rad::Weighted_Gradcomp(roots.size(), roots.data(), weights.data());
    }

    /* NULL: this rank has no loss. */
    static void gradient(diff_rad *loss)
    {
        state &all = own();
        std::vector<diff_rad *> roots;
        std::vector<double> weights;
        if (loss) {
            roots.push_back(loss);
            weights.push_back(1);
        }
        for (size_t k = all.calls.size(); k-- > 0;) {
            kept &one = all.calls[k];
            std::vector<double> y_bar(one.call.y_count + 1), x_bar(one.call.x_count + 1);
            sweep(roots, weights);
            for (size_t i = 0; i < one.call.y_count; i++)
                y_bar[i] = one.y[i].adj();
            diff_tool_reverse(all.tool, one.call.number, y_bar.data(), x_bar.data());
            for (size_t i = 0; i < one.call.x_count; i++) {
                roots.push_back(&one.x[i]);
                weights.push_back(x_bar[i]);
            }
        }
        sweep(roots, weights);
    }
};

inline void diff_rad_gradient(diff_rad &loss)
{
    diff_tool_binding<diff_rad>::gradient(&loss);
}

inline void diff_rad_gradient_none()
{
    diff_tool_binding<diff_rad>::gradient(nullptr);
}

/* Collective over MPI_COMM_WORLD; the first call on diff_rads does it else, on each rank: needed where
 * some ranks make none. */
inline void diff_rad_begin()
{
    diff_tool_binding<diff_rad>::begin(diff_tool_binding<diff_rad>::own());
}

/* Forgets all calls; after it, or the program's end, none can be differentiated. */
inline void diff_rad_free()
{
    for (auto &one : diff_tool_binding<diff_rad>::own().calls) {
        delete[] one.x;
        delete[] one.y;
    }
    diff_tool_binding<diff_rad>::own().calls.clear();
    diff_tool_free(diff_tool_binding<diff_rad>::own().tool);
    diff_tool_binding<diff_rad>::own().tool = nullptr;
}

#endif
