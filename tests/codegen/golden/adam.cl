// k0_assign [1200] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_assign(
    __global float *p0, __global const float *p1, __global float *p2, __global float *p3,
    __global const float *p4, __global const float *p5, int n0)
{
    float v7 = p4[0];
    float v8 = p5[0];
    float v9 = (sqrt((1.0f - v7)) * 0.01f) / (1.0f - v8);
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 v1 = vload16(0, p0 + i0);
        float16 v2 = vload16(0, p1 + i0);
        float16 v3 = (v1 * 0.9f) + (v2 * 0.1f);
        float16 v4 = vload16(0, p2 + i0);
        float16 v5 = (v4 * 0.999f) + ((v2 * 0.001f) * v2);
        float16 v6 = vload16(0, p3 + i0);
        put(p0 + i0, v3, live);
        put(p2 + i0, v5, live);
        put(p3 + i0, (v6 - ((v9 * v3) / (sqrt(v5) + 1.0e-08f))), live);
    }
}
