// Images resized by a table for each axis: out[., y, x, .] = sum over j, k of
// row(y, j) * column(x, k) * in[., first row of y + j, first column of x + k, .].
//
//   in       (n, ih, iw, c)     out   (n, oh, ow, c)
//   rows     (oh, row_width)    line y: first input row, how many, their weights
//   columns  (ow, column_width) the same for the columns
//   lines    one line of iw * c elements for each group, `line` elements apart; at least 64 bytes longer
//
// Sizes are arguments: one build serves every shape and every method. -DT=float (default) or double, the type
// of the sums and of the tables. For `pick`, where a line is one pixel of weight 1, -DT is the unsigned type of
// an element's size (uchar, ushort, uint, ulong) and -DTABLE=float.
//
// `bilinear` and `pick`, for the nearest pixel, have no tables: each group writes the lines of all columns, four
// numbers each, to the beginning of its own `part` elements of `own`, and after them the line of its current row.
// Behind that `bilinear` puts together a row. `part` is a multiple of 4.
//
//   row_scale, column_scale   input pixels per output pixel
//   align, half_pixels        align_corners and half_pixel_centers of TensorFlow's resizing ops
//
// Group g of G owns the g-th of G equal shares of the rows of out; one work-item per group. A row is first
// put together from its input rows, by vectors along iw * c, then along x by vectors of V channels: 1, 4, 8
// or 16, as c fits. With fewer channels than V a pixel's store runs into the next pixel, which is stored
// after it; the last pixels of a row are stored by elements.

#ifndef T
#define T float
#endif
#ifndef TABLE
#define TABLE T
#endif

// Positions decide which pixels are read, so that they are rounded after each operation, as on the host.
#pragma OPENCL FP_CONTRACT OFF
inline float position_of(int at, float scale, int half_pixels)
{
    return half_pixels ? ((float)at + 0.5f) * scale : (float)at * scale;
}

// First pixel, number of pixels, and their weights.
inline float4 bilinear_line(int at, int n_in, float scale, int align, int half_pixels)
{
    float position = position_of(at, scale, half_pixels);
    if (half_pixels)
        position = position - 0.5f;
    float low = floor(position), part = position - low, rest = 1.0f - part;
    int first = clamp((int)low, 0, n_in - 1), last = clamp((int)ceil(position), 0, n_in - 1);
    if (part == 0.0f)
        return (float4)(first, 1, 1, 0);
    if (rest == 0.0f)
        return (float4)(last, 1, 1, 0);
    return first == last ? (float4)(first, 1, rest + part, 0) : (float4)(first, 2, rest, part);
}

inline float4 nearest_line(int at, int n_in, float scale, int align, int half_pixels)
{
    float position = position_of(at, scale, half_pixels);
    if (align)
        position = position + 0.5f;
    return (float4)(clamp((int)floor(position), 0, n_in - 1), 1, 1, 0);
}
#pragma OPENCL FP_CONTRACT DEFAULT

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR(v) JOIN(vector, v)
#define TABLE4 JOIN(TABLE, 4)
#define AS_TABLE JOIN(convert_, TABLE4)
typedef T vector1;
typedef JOIN(T, 4) vector4 __attribute__((aligned(sizeof(T))));
typedef JOIN(T, 8) vector8 __attribute__((aligned(sizeof(T))));
typedef JOIN(T, 16) vector16 __attribute__((aligned(sizeof(T))));

#define SHARE_BEGIN(total) ((int)((long)(total) * get_group_id(0) / get_num_groups(0)))
#define SHARE_END(total) ((int)((long)(total) * (get_group_id(0) + 1) / get_num_groups(0)))

__kernel void resize_naive(
    __global const T *in, __global const TABLE *rows, __global const TABLE *columns, __global T *out,
    int n, int ih, int iw, int oh, int ow, int c, int row_width, int column_width)
{
    size_t total = (size_t)n * oh * ow * c;
    for (size_t i = get_global_id(0); i < total; i += get_global_size(0)) {
        int k = (int)(i % c), x = (int)(i / c % ow), y = (int)(i / c / ow % oh);
        __global const TABLE *row = rows + (size_t)y * row_width;
        __global const TABLE *column = columns + (size_t)x * column_width;
        __global const T *image = in + (i / c / ow / oh * ih + (int)row[0]) * iw * c;
        T sum = 0;
        for (int b = 0; b < (int)column[1]; ++b) {
            T tall = 0;
            for (int a = 0; a < (int)row[1]; ++a)
                tall += (T)row[2 + a] * image[((size_t)a * iw + (int)column[0] + b) * c + k];
            sum += (T)column[2 + b] * tall;
        }
        out[i] = sum;
    }
}

__kernel void bilinear_naive(
    __global const T *in, __global T *out, int n, int ih, int iw, int oh, int ow, int c,
    float row_scale, float column_scale, int align, int half_pixels)
{
    size_t total = (size_t)n * oh * ow * c;
    for (size_t i = get_global_id(0); i < total; i += get_global_size(0)) {
        int k = (int)(i % c), x = (int)(i / c % ow), y = (int)(i / c / ow % oh);
        float4 row = bilinear_line(y, ih, row_scale, align, half_pixels);
        float4 column = bilinear_line(x, iw, column_scale, align, half_pixels);
        __global const T *first = in + ((i / c / ow / oh * ih + (int)row.x) * iw + (int)column.x) * c + k;
        T sum = (T)row.z * first[0];
        if (row.y == 2)
            sum += (T)row.w * first[(size_t)iw * c];
        sum *= (T)column.z;
        if (column.y == 2) {
            T tall = (T)row.z * first[c];
            if (row.y == 2)
                tall += (T)row.w * first[(size_t)iw * c + c];
            sum += (T)column.w * tall;
        }
        out[i] = sum;
    }
}

__kernel void pick_naive(
    __global const T *in, __global T *out, int n, int ih, int iw, int oh, int ow, int c,
    float row_scale, float column_scale, int align, int half_pixels)
{
    size_t total = (size_t)n * oh * ow * c;
    for (size_t i = get_global_id(0); i < total; i += get_global_size(0)) {
        int k = (int)(i % c), x = (int)(i / c % ow), y = (int)(i / c / ow % oh);
        int row = (int)nearest_line(y, ih, row_scale, align, half_pixels).x;
        int column = (int)nearest_line(x, iw, column_scale, align, half_pixels).x;
        out[i] = in[((i / c / ow / oh * ih + row) * iw + column) * c + k];
    }
}

#define STORE_PIXEL(V)                                                                              \
    if (at + V <= c || x * c + V <= ow * c)                                                         \
        *(__global VECTOR(V) *)(to + x * c + at) = sum;                                             \
    else {                                                                                          \
        T part[V];                                                                                  \
        *(VECTOR(V) *)part = sum;                                                                   \
        for (int k = 0; k < c; ++k)                                                                 \
            to[x * c + k] = part[k];                                                                \
    }

#define ALONG(V)                                                                                    \
    inline void along_##V(__global const T *from, __global const TABLE *column, __global T *to,     \
                          int ow, int c, int width)                                                 \
    {                                                                                               \
        for (int x = 0; x < ow; ++x, column += width) {                                             \
            __global const T *first = from + (int)column[0] * c;                                    \
            int count = (int)column[1];                                                             \
            for (int k = 0; k < c; k += V) {                                                        \
                int at = c < V ? 0 : k + V < c ? k : c - V;                                         \
                __global const T *p = first + at;                                                   \
                VECTOR(V) sum = (VECTOR(V))(T)0;                                                    \
                for (int j = 0; j < count; ++j, p += c)                                             \
                    sum += (T)column[2 + j] * *(__global const VECTOR(V) *)p;                       \
                STORE_PIXEL(V)                                                                      \
            }                                                                                       \
        }                                                                                           \
    }

#define PICK(V)                                                                                     \
    inline void pick_##V(__global const T *from, __global const TABLE *column, __global T *to,      \
                         int ow, int c, int width)                                                  \
    {                                                                                               \
        for (int x = 0; x < ow; ++x, column += width) {                                             \
            __global const T *first = from + (int)column[0] * c;                                    \
            for (int k = 0; k < c; k += V) {                                                        \
                int at = c < V ? 0 : k + V < c ? k : c - V;                                         \
                VECTOR(V) sum = *(__global const VECTOR(V) *)(first + at);                          \
                STORE_PIXEL(V)                                                                      \
            }                                                                                       \
        }                                                                                           \
    }

#define BY_CHANNELS(NAME, ...)                                                                      \
    if (c == 1)                                                                                     \
        NAME##_1(__VA_ARGS__);                                                                      \
    else if (c <= 4)                                                                                \
        NAME##_4(__VA_ARGS__);                                                                      \
    else if (c <= 8)                                                                                \
        NAME##_8(__VA_ARGS__);                                                                      \
    else                                                                                            \
        NAME##_16(__VA_ARGS__);

ALONG(1)
ALONG(4)
ALONG(8)
ALONG(16)
PICK(1)
PICK(4)
PICK(8)
PICK(16)

// line[i] = the weighted sum of `count` input rows, for i < size and up to 15 elements more.
inline void blend(__global const T *row, __global T *line, int size, int count, __global const TABLE *weight)
{
    for (int i = 0; i < size; i += 16) {
        __global const T *p = row + i;
        vector16 sum = (vector16)(T)0;
        for (int j = 0; j < count; ++j, p += size)
            sum += (T)weight[j] * *(__global const vector16 *)p;
        *(__global vector16 *)(line + i) = sum;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void resize(
    __global const T *in, __global const TABLE *rows, __global const TABLE *columns, __global T *out,
    int n, int ih, int iw, int oh, int ow, int c, int row_width, int column_width, __global T *lines, int line)
{
    __global T *own = lines + get_group_id(0) * (size_t)line;
    int r_end = SHARE_END(n * oh);
    for (int r = SHARE_BEGIN(n * oh); r < r_end; ++r) {
        __global const TABLE *row = rows + (size_t)(r % oh) * row_width;
        __global const T *from = in + ((size_t)(r / oh) * ih + (int)row[0]) * iw * c;
        if (row[1] != 1 || row[2] != 1) {
            blend(from, own, iw * c, (int)row[1], row + 2);
            from = own;
        }
        __global T *to = out + (size_t)r * ow * c;
        BY_CHANNELS(along, from, columns, to, ow, c, column_width)
    }
}

#define WRITE_COLUMNS(LINE)                                                                         \
    __global TABLE *columns = own + get_group_id(0) * (size_t)part, *row = columns + ow * 4;        \
    for (int x = 0; x < ow; ++x)                                                                    \
        *(__global TABLE4 *)(columns + x * 4) = AS_TABLE(LINE(x, iw, column_scale, align, half_pixels));

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void bilinear(
    __global const T *in, __global T *out, int n, int ih, int iw, int oh, int ow, int c,
    float row_scale, float column_scale, int align, int half_pixels,
    __global TABLE *own, int part)
{
    WRITE_COLUMNS(bilinear_line)
    __global T *line = (__global T *)(row + 4);
    int r_end = SHARE_END(n * oh);
    for (int r = SHARE_BEGIN(n * oh); r < r_end; ++r) {
        *(__global TABLE4 *)row = AS_TABLE(bilinear_line(r % oh, ih, row_scale, align, half_pixels));
        __global const T *from = in + ((size_t)(r / oh) * ih + (int)row[0]) * iw * c;
        if (row[1] != 1 || row[2] != 1) {
            blend(from, line, iw * c, (int)row[1], row + 2);
            from = line;
        }
        __global T *to = out + (size_t)r * ow * c;
        BY_CHANNELS(along, from, columns, to, ow, c, 4)
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pick(
    __global const T *in, __global T *out, int n, int ih, int iw, int oh, int ow, int c,
    float row_scale, float column_scale, int align, int half_pixels, __global TABLE *own, int part)
{
    WRITE_COLUMNS(nearest_line)
    int r_end = SHARE_END(n * oh);
    for (int r = SHARE_BEGIN(n * oh); r < r_end; ++r) {
        *(__global TABLE4 *)row = AS_TABLE(nearest_line(r % oh, ih, row_scale, align, half_pixels));
        __global const T *from = in + ((size_t)(r / oh) * ih + (int)row[0]) * iw * c;
        __global T *to = out + (size_t)r * ow * c;
        BY_CHANNELS(pick, from, columns, to, ow, c, 4)
    }
}
