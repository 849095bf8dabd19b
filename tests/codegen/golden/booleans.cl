// k0_logicaland [2000] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T uchar
#define W 16
#include "fused/put.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_logicaland(
    int item, int items,
    __global const float *in_1, __global const float *in_2, __global uchar *out_1, int n0)
{
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 x_1 = LOAD(float, 16, in_1 + i0);
        float16 x_2 = LOAD(float, 16, in_2 + i0);
        put(out_1 + i0, convert_uchar16(((x_1 > x_2) & (fabs(x_1) < INFINITY)) & 1), live);
    }
}

__kernel void k0_logicaland(
    __global const float *in_1, __global const float *in_2, __global uchar *out_1, int n0)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_logicaland(
        item, items, in_1, in_2, out_1, n0);
}
