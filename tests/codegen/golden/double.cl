// k0_truediv [1000] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T double
#define W 8
#include "fused/put.clh"
#define T double
#define W 8
#include "lib/math.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_truediv(
    int item, int items,
    __global const double *in_1, __global double *out_1, int n0)
{
    RANGE(int, i0, n0, 8) {
        int live = LIVE(i0_end - i0, 8);
        double8 x_1 = LOAD(double, 8, in_1 + i0);
        put(out_1 + i0, (t_exp(x_1) / (double8)(3.0)), live);
    }
}

__kernel void k0_truediv(
    __global const double *in_1, __global double *out_1, int n0)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_truediv(
        item, items, in_1, out_1, n0);
}
