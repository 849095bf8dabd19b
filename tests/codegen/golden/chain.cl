// k0_tanh [1000] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define T float
#define W 16
#include "lib/math.clh"

__kernel void k0_tanh(
    __global const float *p0, __global float *p1, int n0)
{
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 v1 = vload16(0, p0 + i0);
        put(p1 + i0, t_tanh(((v1 * 1.1f) + 0.1f)), live);
    }
}
