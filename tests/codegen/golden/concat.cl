// k0_concat [64, 50, 40, 40, 24, -40] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_concat(
    int item, int items,
    __global const float *in_1, __global float *out_1, __global const float *in_2, int n1,
    int n_tasks, int in_1_s0, int n_cut, int in_2_s0, int in_2_offset)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task;
        int i0 = row;
        int begin = 0;
        int end = n1;
        int end_1 = min(end, n_cut);
        for (int i1 = begin; i1 < end_1; i1 += 16) {
            int live = LIVE(end_1 - i1, 16);
            float16 x_1 = LOAD(float, 16, in_1 + i0 * in_1_s0 + i1);
            put(out_1 + i0 * n1 + i1, x_1, live);
        }
        for (int i1 = max(begin, n_cut); i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 x_2 = LOAD(float, 16, in_2 + i0 * in_2_s0 + i1 + in_2_offset);
            put(out_1 + i0 * n1 + i1, x_2, live);
        }
    }
}

__kernel void k0_concat(
    __global const float *in_1, __global float *out_1, __global const float *in_2, int n1,
    int n_tasks, int in_1_s0, int n_cut, int in_2_s0, int in_2_offset)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_concat(
        item, items, in_1, out_1, in_2, n1, n_tasks, in_1_s0, n_cut, in_2_s0, in_2_offset);
}
