// k0_max [10, 50] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 
#include "lib/math.clh"
#define T float
#define W 16
#include "lib/math.clh"
#define T float
#define W 16
#include "lib/reduce.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_max(
    int item, int items,
    __global const float *in_1, __global const float *in_2, __global float *out_1, int n1,
    int n_rows)
{
    RANGE(int, row, n_rows, 1) {
        int i0 = row;
        float16 max_1 = -INFINITY;
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 x_1 = LOAD(float, 16, in_1 + i0 * n1 + i1);
            float16 value_1 = (lanes16() < (int16)(live)) ? x_1 : (float16)(-INFINITY);
            max_1 = ((value_1 > max_1) | (value_1 != value_1)) ? value_1 : max_1;
        }
        float max_2 = across_max(max_1);
        float16 sum_1 = 0.0f;
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 x_2 = LOAD(float, 16, in_1 + i0 * n1 + i1);
            float16 sub_1 = x_2 - max_2;
            float16 value_2 = (lanes16() < (int16)(live)) ? t_exp(sub_1) : (float16)(0.0f);
            sum_1 = sum_1 + value_2;
        }
        float sum_2 = across_sum(sum_1);
        float16 sum_3 = 0.0f;
        float log_1 = t_log(sum_2);
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 x_3 = LOAD(float, 16, in_2 + i0 * n1 + i1);
            float16 x_4 = LOAD(float, 16, in_1 + i0 * n1 + i1);
            float16 sub_2 = x_4 - max_2;
            float16 value_3 = (lanes16() < (int16)(live)) ? (x_3 * (log_1 - sub_2)) : (float16)(0.0f);
            sum_3 = sum_3 + value_3;
        }
        float sum_4 = across_sum(sum_3);
        out_1[i0] = sum_4;
    }
}

__kernel void k0_max(
    __global const float *in_1, __global const float *in_2, __global float *out_1, int n1,
    int n_rows)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_max(
        item, items, in_1, in_2, out_1, n1, n_rows);
}
