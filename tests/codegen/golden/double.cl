// k0_truediv [1000] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T double
#define W 8
#include "fused/put.clh"
#define T double
#define W 8
#include "lib/math.clh"

__kernel void k0_truediv(
    __global const double *p0, __global double *p1, int n0)
{
    RANGE(int, i0, n0, 8) {
        int live = LIVE(i0_end - i0, 8);
        double8 v1 = vload8(0, p0 + i0);
        put(p1 + i0, (t_exp(v1) / (double8)(3.0)), live);
    }
}
