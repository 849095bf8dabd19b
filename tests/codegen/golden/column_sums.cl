// k0_sum [5000, 1000, 40, 48, 5, 256, 5] x 5
// k1_sum [48, 5, 40] x 1

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

static PART void part_k0_sum(
    int item, int items,
    __global const float *in_1, __global float *total_1, int n_rows, int n_part, int n1,
    int n_padded, int n_splits, int n_block_rows, int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int part = task / 1;
        int q_begin = part * n_part;
        int q_end = min(n_rows, q_begin + n_part);
        int rest = task % 1;
        int begin = 0;
        int end = n1;
        int row = rest;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 sum_1_total = 0.0f;
            float16 sum_1;
            for (int block = q_begin; block < q_end; block += n_block_rows) {
                sum_1 = 0.0f;
                int stop = min(q_end, block + n_block_rows);
                for (int q = block; q < stop; ++q) {
                    int i0 = q;
                    float16 x_1 = LOAD(float, 16, in_1 + i0 * n1 + i1);
                    float16 value_1 = x_1;
                    sum_1 = sum_1 + value_1;
                }
                sum_1_total = sum_1_total + sum_1;
            }
            sum_1 = sum_1_total;
            STORE(float, 16, sum_1, total_1 + (row * n_splits + part) * n_padded + i1);
        }
    }
}

__kernel void k0_sum(
    __global const float *in_1, __global float *total_1, int n_rows, int n_part, int n1,
    int n_padded, int n_splits, int n_block_rows, int n_tasks)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_sum(
        item, items, in_1, total_1, n_rows, n_part, n1, n_padded, n_splits, n_block_rows,
        n_tasks);
}

static PART void part_k1_sum(
    int item, int items,
    __global float *total_1, __global float *out_1, int n_padded, int n_splits, int n1)
{
    RANGE(int, task, 1, 1) {
        int begin = 0;
        int end = n1;
        int row = task;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 sum_1 = 0.0f;
            for (int part = 0; part < n_splits; ++part) {
                float16 sum_1_part = LOAD(float, 16, total_1 + (row * n_splits + part) * n_padded + i1);
                sum_1 = sum_1 + sum_1_part;
            }
            put(out_1 + i1, sum_1, live);
        }
    }
}

__kernel void k1_sum(
    __global float *total_1, __global float *out_1, int n_padded, int n_splits, int n1)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k1_sum(
        item, items, total_1, out_1, n_padded, n_splits, n1);
}
