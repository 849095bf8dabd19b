// k0_add [1000] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define W 16
#include "lib/philox.clh"

__kernel void k0_add(
    __global const float *p0, __global const uint *p1, __global float *p2, int n0)
{
    uint v2 = p1[0];
    uint v3 = p1[1];
    uint v5 = p1[2];
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 v1 = vload16(0, p0 + i0);
        int16 v4 = lane_index16(i0, live);
        uint16 v6[4];
        philox_4x32(v2, v3, convert_uint16(v4), (uint16)(v5), v6);
        uint16 v7 = v6[0];
        put(p2 + i0, (v1 + (convert_float16((v7 >> 8)) * 5.9604645e-08f)), live);
    }
}
