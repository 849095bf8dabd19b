// k0_max [40, 48, 50] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define T float
#define W 16
#include "lib/math.clh"
#define T float
#define W 16
#include "lib/reduce.clh"

__kernel void k0_max(
    __global const float *p0, __global float *p1, __global float *p2, int n1, int n_kept,
    int n_rows)
{
    __global float *p1_row = p1 + ITEM * n_kept;
    RANGE(int, row, n_rows, 1) {
        int i0 = row;
        float16 v1 = -INFINITY;
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 v3 = vload16(0, p0 + i0 * n1 + i1);
            float16 v2 = (lanes16() < (int16)(live)) ? v3 : (float16)(-INFINITY);
            v1 = ((v2 > v1) | (v2 != v2)) ? v2 : v1;
        }
        float v4 = across_max(v1);
        float16 v5 = 0.0f;
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 v7 = vload16(0, p0 + i0 * n1 + i1);
            float16 v8 = t_exp((v7 - v4));
            float16 v6 = (lanes16() < (int16)(live)) ? v8 : (float16)(0.0f);
            v5 = v5 + v6;
            vstore16(v8, 0, p1_row + i1);
        }
        float v9 = across_sum(v5);
        for (int i1 = 0; i1 < n1; i1 += 16) {
            int live = LIVE(n1 - i1, 16);
            float16 v10 = vload16(0, p1_row + i1);
            put(p2 + i0 * n1 + i1, (v10 / (float16)(v9)), live);
        }
    }
}
