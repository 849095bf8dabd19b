// The weights of one line of a resized image and of one column, as two tables: line y of `rows` has the first input
// row of output row y, the number of input rows, and their weights; `columns` has the same for output columns.
//
//   rows     (rows_out, 2 + n)      n is 2, or 1 if `nearest` is not 0
//   columns  (columns_out, 2 + n)
//   row_scale, column_scale         input pixels per output pixel
//   align, half                     align_corners and half_pixel_centers of TensorFlow's resizing ops
//
// -DT=float (default) or double, the type of the tables; positions are float in both. Any number of work-items.

// Positions decide which pixels are read, so that they are rounded after each operation, as on the host.
#pragma OPENCL FP_CONTRACT OFF

#ifndef T
#define T float
#endif

inline void write_line(__global T *line, int at, int n_in, float scale, int nearest, int align, int half_pixels)
{
    float position = (float)at * scale;
    if (half_pixels) {
        position = ((float)at + 0.5f) * scale;
        if (!nearest)
            position = position - 0.5f;
    }
    if (nearest) {
        float rounded = align ? floor(position + 0.5f) : floor(position);
        line[0] = clamp((int)rounded, 0, max(n_in - 1, 0));
        line[1] = n_in > 0;
        line[2] = n_in > 0;
        return;
    }
    float low = floor(position), part = position - low, rest = 1.0f - part;
    int first = clamp((int)low, 0, max(n_in - 1, 0)), last = clamp((int)ceil(position), 0, max(n_in - 1, 0));
    int one = first == last || part == 0.0f || rest == 0.0f || n_in <= 0;
    if (rest == 0.0f)
        first = last;
    T sum = first == last && rest != 0.0f && part != 0.0f ? (T)rest + (T)part : 1;
    line[0] = first;
    line[1] = n_in <= 0 ? 0 : one ? 1 : 2;
    line[2] = n_in <= 0 ? 0 : one ? sum : (T)rest;
    line[3] = one ? 0 : (T)part;
}

__kernel void tables(
    __global T *rows, __global T *columns, int rows_out, int rows_in, int columns_out, int columns_in,
    float row_scale, float column_scale, int nearest, int align, int half_pixels)
{
    int width = nearest ? 3 : 4, total = rows_out + columns_out;
    for (int i = (int)get_global_id(0); i < total; i += (int)get_global_size(0)) {
        if (i < rows_out)
            write_line(rows + (size_t)i * width, i, rows_in, row_scale, nearest, align, half_pixels);
        else {
            int x = i - rows_out;
            write_line(columns + (size_t)x * width, x, columns_in, column_scale, nearest, align, half_pixels);
        }
    }
}
