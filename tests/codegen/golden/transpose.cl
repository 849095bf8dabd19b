// k0_mul [50, 40, 40, 3, 3] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define T float
#define W 16
#include "fused/transpose.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_mul(
    int item, int items,
    __global const float *in_1, __global float *out_1, int n1, int in_1_s1, int n0, int n_blocks,
    int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task / n_blocks;
        int first = task % n_blocks * 16;
        int rows = LIVE(n0 - first, 16);
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 tile0[16];
            for (int r = 0; r < 16; ++r)
                tile0[r] = LOAD(float, 16, in_1 + first + min(i1 + r, n1 - 1) * in_1_s1);
            transpose(tile0);
            for (int k = 0; k < rows; ++k) {
                int i0 = first + k;
                float16 x_1 = tile0[k];
                put(out_1 + i0 * n1 + i1, (x_1 * 2.0f), live);
            }
        }
    }
}

__kernel void k0_mul(
    __global const float *in_1, __global float *out_1, int n1, int in_1_s1, int n0, int n_blocks,
    int n_tasks)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_mul(
        item, items, in_1, out_1, n1, in_1_s1, n0, n_blocks, n_tasks);
}
