// k0_relu [40, 50] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_relu(
    __global const float *p0, __global const float *p1, __global float *p2, int n1, int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task;
        int i0 = row;
        int begin = 0;
        int end = n1;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 v1 = vload16(0, p0 + i0 * n1 + i1);
            float16 v2 = vload16(0, p1 + i1);
            float16 v3 = v1 + v2;
            put(p2 + i0 * n1 + i1, (v3 < (float16)(0.0f) ? (float16)(0.0f) : v3), live);
        }
    }
}
