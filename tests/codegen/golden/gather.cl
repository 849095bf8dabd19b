// k0_gather [40, 3, 4, 40, 5] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T int
#define W 
#include "fused/integers.clh"
#define T float
#define W 16
#include "fused/put.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_gather(
    int item, int items,
    __global const float *in_1, __global const int *in_2, __global float *out_1, int n1,
    int n_tasks, int n_limit, int in_1_s, int n_limit_2)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task;
        int i0 = row;
        int x_1 = in_2[i0];
        int max_1 = t_max(x_1, 0);
        int min_1 = t_min(max_1, n_limit);
        int and_1 = (x_1 >= 0) & (x_1 < n_limit_2);
        int begin = 0;
        int end = n1;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 x_2 = LOAD(float, 16, in_1 + i1 + min_1 * in_1_s);
            put(out_1 + i0 * n1 + i1, (and_1 ? x_2 : (float16)(0.0f)), live);
        }
    }
}

__kernel void k0_gather(
    __global const float *in_1, __global const int *in_2, __global float *out_1, int n1,
    int n_tasks, int n_limit, int in_1_s, int n_limit_2)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_gather(
        item, items, in_1, in_2, out_1, n1, n_tasks, n_limit, in_1_s, n_limit_2);
}
