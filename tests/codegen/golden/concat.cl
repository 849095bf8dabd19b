// k0_concat [64, 50, 40, 24, -40] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_concat(
    __global const float *p0, __global float *p1, __global const float *p2, int n0, int n1,
    int n2, int n3, int n4)
{
    RANGE(int, task, n1, 1) {
        int row = task;
        int i0 = row;
        int begin = 0;
        int end = n0;
        int v2 = min(end, n2);
        for (int i1 = begin; i1 < v2; i1 += 16) {
            int live = LIVE(v2 - i1, 16);
            float16 v1 = vload16(0, p0 + i0 * n2 + i1);
            put(p1 + i0 * n0 + i1, v1, live);
        }
        for (int i1 = max(begin, n2); i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 v3 = vload16(0, p2 + i0 * n3 + i1 + n4);
            put(p1 + i0 * n0 + i1, v3, live);
        }
    }
}
