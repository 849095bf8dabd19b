// k0_assign [1200, 0.8999999761581421, 0.10000000149011612, 0.9990000128746033, 0.0010000000474974513, 0.009999999776482582, 9.99999993922529e-09] x 1

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

static PART void part_k0_assign(
    int item, int items,
    __global float *out_1, __global const float *in_1, __global float *out_2,
    __global float *out_3, __global const float *in_2, __global const float *in_3, int n0,
    float x0, float x1, float x2, float x3, float x4, float x5)
{
    float x_5 = in_2[0];
    float x_6 = in_3[0];
    float div_1 = (sqrt((1.0f - x_5)) * x4) / (1.0f - x_6);
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 x_1 = LOAD(float, 16, out_1 + i0);
        float16 x_2 = LOAD(float, 16, in_1 + i0);
        float16 add_1 = (x_1 * x0) + (x_2 * x1);
        float16 x_3 = LOAD(float, 16, out_2 + i0);
        float16 add_2 = (x_3 * x2) + ((x_2 * x3) * x_2);
        float16 x_4 = LOAD(float, 16, out_3 + i0);
        put(out_1 + i0, add_1, live);
        put(out_2 + i0, add_2, live);
        put(out_3 + i0, (x_4 - ((div_1 * add_1) / (sqrt(add_2) + x5))), live);
    }
}

__kernel void k0_assign(
    __global float *out_1, __global const float *in_1, __global float *out_2,
    __global float *out_3, __global const float *in_2, __global const float *in_3, int n0,
    float x0, float x1, float x2, float x3, float x4, float x5)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_assign(
        item, items, out_1, in_1, out_2, out_3, in_2, in_3, n0, x0, x1, x2, x3, x4, x5);
}
