// k0_argmax [40, 50] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "lib/reduce.clh"

__kernel void k0_argmax(
    __global const float *p0, __global long *p1, int n1, int n_rows)
{
    RANGE(int, row, n_rows, 1) {
        int i0 = row;
        float16 v1 = -INFINITY;
        int16 v2 = INT_MAX;
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 v4 = vload16(0, p0 + i0 * n1 + i1);
            float16 v3 = (lanes16() < (int16)(live)) ? v4 : (float16)(-INFINITY);
            int16 v5 = ((v3 > v1) | ((v3 != v3) & (v1 == v1))) | ((v3 == v1) & (lane_index16(i1, live) < v2));
            v1 = v5 ? v3 : v1;
            v2 = v5 ? lane_index16(i1, live) : v2;
        }
        float v6;
        int v7;
        across_argmax(v1, v2, &v6, &v7);
        v7 = v7 == INT_MAX ? 0 : v7;
        p1[i0] = (long)v7;
    }
}
