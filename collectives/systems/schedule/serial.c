/* Small models computed by one rank alone, with gradients written by hand. Nothing is shared with
 * the library's operations, so that agreement means something. See schedule.h. */
#include "collectives/systems/schedule/schedule.h"

#include <math.h>
#include <stdlib.h>

static double *zeros(int count)
{
    double *values = calloc((size_t)count + 1, sizeof *values);
    if (!values)
        abort();
    return values;
}

/* y [rows, columns] += x [rows, inner] m [inner, columns] */
static void multiply(int rows, int inner, int columns, const double *x, const double *m, double *y)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < inner; i++)
            for (int c = 0; c < columns; c++)
                y[r * columns + c] += x[r * inner + i] * m[i * columns + c];
}

/* m_grad += x^T y_grad, x_grad += y_grad m^T; either may be NULL. */
static void multiply_backward(int rows, int inner, int columns, const double *x, const double *m,
                              const double *y_grad, double *x_grad, double *m_grad)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < inner; i++)
            for (int c = 0; c < columns; c++) {
                if (m_grad)
                    m_grad[i * columns + c] += x[r * inner + i] * y_grad[r * columns + c];
                if (x_grad)
                    x_grad[r * inner + i] += m[i * columns + c] * y_grad[r * columns + c];
            }
}

/* y becomes y - target. */
static double squares(int count, double *y, const double *target)
{
    double loss = 0;
    for (int i = 0; i < count; i++) {
        y[i] -= target[i];
        loss += 0.5 * y[i] * y[i];
    }
    return loss;
}

double perceptron_serial(const struct perceptron *model)
{
    int rows = model->rows, hidden = model->hidden, out = model->out;
    double *h = zeros(rows * hidden), *h_grad = zeros(rows * hidden), *y = zeros(rows * out);
    multiply(rows, model->in, hidden, model->x, model->a, h);
    for (int i = 0; i < rows * hidden; i++)
        h[i] = tanh(h[i]);
    multiply(rows, hidden, out, h, model->b, y);
    double loss = squares(rows * out, y, model->target);
    multiply_backward(rows, hidden, out, h, model->b, y, h_grad, model->b_grad);
    for (int i = 0; i < rows * hidden; i++)
        h_grad[i] *= 1 - h[i] * h[i];
    multiply_backward(rows, model->in, hidden, model->x, model->a, h_grad, model->x_grad,
                      model->a_grad);
    free(h);
    free(h_grad);
    free(y);
    return loss;
}

/* p becomes the softmax of its rows. */
static void softmax(int rows, double *p)
{
    for (int r = 0; r < rows; r++) {
        double *row = p + r * rows, largest = row[0], sum = 0;
        for (int c = 1; c < rows; c++)
            largest = row[c] > largest ? row[c] : largest;
        for (int c = 0; c < rows; c++)
            sum += row[c] = exp(row[c] - largest);
        for (int c = 0; c < rows; c++)
            row[c] /= sum;
    }
}

/* p_grad becomes the gradient of the scores. */
static void softmax_backward(int rows, const double *p, double *p_grad)
{
    for (int r = 0; r < rows; r++) {
        double mean = 0;
        for (int c = 0; c < rows; c++)
            mean += p[r * rows + c] * p_grad[r * rows + c];
        for (int c = 0; c < rows; c++)
            p_grad[r * rows + c] = p[r * rows + c] * (p_grad[r * rows + c] - mean);
    }
}

double attention_serial(const struct attention *model)
{
    int rows = model->rows, width = model->width;
    double scale = 1 / sqrt(width);
    double *p = zeros(rows * rows), *p_grad = zeros(rows * rows), *y = zeros(rows * width);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < rows; c++)
            for (int i = 0; i < width; i++)
                p[r * rows + c] += scale * model->q[r * width + i] * model->k[c * width + i];
    softmax(rows, p);
    multiply(rows, rows, width, p, model->v, y);
    double loss = squares(rows * width, y, model->target);
    multiply_backward(rows, rows, width, p, model->v, y, p_grad, model->v_grad);
    softmax_backward(rows, p, p_grad);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < rows; c++)
            for (int i = 0; i < width; i++) {
                double slope = scale * p_grad[r * rows + c];
                model->q_grad[r * width + i] += slope * model->k[c * width + i];
                model->k_grad[c * width + i] += slope * model->q[r * width + i];
            }
    free(p);
    free(p_grad);
    free(y);
    return loss;
}

double serial_distance(const double *got, const double *expected, size_t count)
{
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double scale = fabs(expected[i]) > 1e-3 ? fabs(expected[i]) : 1e-3;
        double error = fabs(got[i] - expected[i]) / scale;
        if (!(error <= worst)) /* NaN stays */
            worst = error;
        if (worst != worst)
            return worst;
    }
    return worst;
}
