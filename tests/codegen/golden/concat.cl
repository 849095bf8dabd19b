// k0_concat [64, 50, 40, 40, 24, -40] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_concat(
    __global const float *p0, __global float *p1, __global const float *p2, int n1, int n_tasks,
    int p0_s0, int n_cut, int p2_s0, int p2_offset)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task;
        int i0 = row;
        int begin = 0;
        int end = n1;
        int v2 = min(end, n_cut);
        for (int i1 = begin; i1 < v2; i1 += 16) {
            int live = LIVE(v2 - i1, 16);
            float16 v1 = vload16(0, p0 + i0 * p0_s0 + i1);
            put(p1 + i0 * n1 + i1, v1, live);
        }
        for (int i1 = max(begin, n_cut); i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 v3 = vload16(0, p2 + i0 * p2_s0 + i1 + p2_offset);
            put(p1 + i0 * n1 + i1, v3, live);
        }
    }
}
