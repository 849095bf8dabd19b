// k0_sum [8, 131072, 1048576, 8192, 8] x 8
// k1_sum [8] x 1

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

static PART void part_k0_sum(
    int item, int items,
    __global const float *in_1, __global float *parts_1, int n_splits, int n_part, int n0,
    int n_block, int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task / n_splits;
        int begin = task % n_splits * n_part;
        int end = min(n0, begin + n_part);
        float16 sum_1 = 0.0f;
        for (int block = begin; block < end; block += n_block) {
            float16 sum_1_block = 0.0f;
            int stop = min(end, block + n_block);
            for (int i0 = block; i0 < stop; i0 += 16) {
                int live = LIVE(stop - i0, 16);
                float16 x_1 = LOAD(float, 16, in_1 + i0);
                float16 value_1 = (lanes16() < (int16)(live)) ? (x_1 * x_1) : (float16)(0.0f);
                sum_1_block = sum_1_block + value_1;
            }
            sum_1 = sum_1 + sum_1_block;
        }
        float sum_2 = across_sum(sum_1);
        parts_1[task] = sum_2;
    }
}

__kernel void k0_sum(
    __global const float *in_1, __global float *parts_1, int n_splits, int n_part, int n0,
    int n_block, int n_tasks)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_sum(
        item, items, in_1, parts_1, n_splits, n_part, n0, n_block, n_tasks);
}

static PART void part_k1_sum(
    int item, int items,
    __global float *parts_1, __global float *out_1, int n_splits)
{
    RANGE(int, row, 1, 1) {
        float sum_1 = 0.0f;
        for (int part = 0; part < n_splits; ++part) {
            float sum_2 = parts_1[row * n_splits + part];
            sum_1 = sum_1 + sum_2;
        }
        out_1[0] = sum_1;
    }
}

__kernel void k1_sum(
    __global float *parts_1, __global float *out_1, int n_splits)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k1_sum(
        item, items, parts_1, out_1, n_splits);
}
