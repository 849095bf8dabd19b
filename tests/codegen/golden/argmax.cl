// k0_argmax [40, 50] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "lib/reduce.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_argmax(
    int item, int items,
    __global const float *in_1, __global long *out_1, int n1, int n_rows)
{
    RANGE(int, row, n_rows, 1) {
        int i0 = row;
        float16 argmax_1 = -INFINITY;
        int16 argmax_at_1 = INT_MAX;
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 x_1 = LOAD(float, 16, in_1 + i0 * n1 + i1);
            float16 value_1 = (lanes16() < (int16)(live)) ? x_1 : (float16)(-INFINITY);
            int16 better_1 = ((value_1 > argmax_1) | ((value_1 != value_1) & (argmax_1 == argmax_1))) | ((value_1 == argmax_1) & (lane_index16(i1, live) < argmax_at_1));
            argmax_1 = better_1 ? value_1 : argmax_1;
            argmax_at_1 = better_1 ? lane_index16(i1, live) : argmax_at_1;
        }
        float argmax_2;
        int argmax_at_2;
        across_argmax(argmax_1, argmax_at_1, &argmax_2, &argmax_at_2);
        argmax_at_2 = argmax_at_2 == INT_MAX ? 0 : argmax_at_2;
        out_1[i0] = (long)argmax_at_2;
    }
}

__kernel void k0_argmax(
    __global const float *in_1, __global long *out_1, int n1, int n_rows)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_argmax(
        item, items, in_1, out_1, n1, n_rows);
}
