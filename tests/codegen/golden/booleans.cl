// k0_logicaland [2000] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T uchar
#define W 16
#include "fused/put.clh"

__kernel void k0_logicaland(
    __global const float *p0, __global const float *p1, __global uchar *p2, int n0)
{
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 v1 = vload16(0, p0 + i0);
        float16 v2 = vload16(0, p1 + i0);
        put(p2 + i0, convert_uchar16(((v1 > v2) & (fabs(v1) < INFINITY)) & 1), live);
    }
}
