// k0_relu [40, 50] x 1

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

static PART void part_k0_relu(
    int item, int items,
    __global const float *in_1, __global const float *in_2, __global float *out_1, int n1,
    int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task;
        int i0 = row;
        int begin = 0;
        int end = n1;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 x_1 = LOAD(float, 16, in_1 + i0 * n1 + i1);
            float16 x_2 = LOAD(float, 16, in_2 + i1);
            float16 add_1 = x_1 + x_2;
            put(out_1 + i0 * n1 + i1, (add_1 < (float16)(0.0f) ? (float16)(0.0f) : add_1), live);
        }
    }
}

__kernel void k0_relu(
    __global const float *in_1, __global const float *in_2, __global float *out_1, int n1,
    int n_tasks)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_relu(
        item, items, in_1, in_2, out_1, n1, n_tasks);
}
