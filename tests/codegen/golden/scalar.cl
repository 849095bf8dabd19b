// k0_add [] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 
#include "lib/math.clh"

__kernel void k0_add(
    __global const float *in_1, __global float *out_1)
{
    if (ITEM)
        return;
    float x_1 = in_1[0];
    out_1[0] = (t_exp(x_1) + 1.0f);
}
