// k0_tanh [1000, 1.100000023841858, 0.10000000149011612] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define T float
#define W 16
#include "lib/math.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_tanh(
    int item, int items,
    __global const float *in_1, __global float *out_1, int n0, float x0, float x1)
{
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 x_1 = LOAD(float, 16, in_1 + i0);
        put(out_1 + i0, t_tanh(((x_1 * x0) + x1)), live);
    }
}

__kernel void k0_tanh(
    __global const float *in_1, __global float *out_1, int n0, float x0, float x1)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_tanh(
        item, items, in_1, out_1, n0, x0, x1);
}
