// k0_gather [40, 3, 4, 40, 5] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T int
#define W 
#include "fused/integers.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_gather(
    __global const float *p0, __global const int *p1, __global float *p2, int n1, int n_tasks,
    int n_limit, int p0_s, int n_limit_2)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task;
        int i0 = row;
        int v1 = p1[i0];
        int v2 = t_max(v1, 0);
        int v3 = t_min(v2, n_limit);
        int v5 = (v1 >= 0) & (v1 < n_limit_2);
        int begin = 0;
        int end = n1;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 v4 = vload16(0, p0 + i1 + v3 * p0_s);
            put(p2 + i0 * n1 + i1, (v5 ? v4 : (float16)(0.0f)), live);
        }
    }
}
