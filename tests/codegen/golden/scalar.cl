// k0_add [] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 
#include "lib/math.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_add(
    int item, int items,
    __global const float *in_1, __global float *out_1)
{
    if (ITEM)
        return;
    float x_1 = in_1[0];
    out_1[0] = (t_exp(x_1) + 1.0f);
}

__kernel void k0_add(
    __global const float *in_1, __global float *out_1)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_add(
        item, items, in_1, out_1);
}
