// k0_sum [5000, 5, 1000, 40, 48, 256] x 5
// k1_sum [48, 5, 5000, 40] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_sum(
    __global const float *p0, __global float *p1, int n0, int n1, int n2, int n3, int n4, int n5)
{
    RANGE(int, task, n1, 1) {
        int q_begin = task % n1 * n2;
        int q_end = min(n0, q_begin + n2);
        int rest = task / n1;
        int begin = 0;
        int end = n3;
        int row = rest;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 a0_tot = 0.0f;
            float16 a0;
            for (int block = q_begin; block < q_end; block += n5) {
                a0 = 0.0f;
                int stop = min(q_end, block + n5);
                for (int q = block; q < stop; ++q) {
                    int i0 = q;
                    float16 v2 = vload16(0, p0 + i0 * n3 + i1);
                    float16 v1 = v2;
                    a0 = a0 + v1;
                }
                a0_tot = a0_tot + a0;
            }
            a0 = a0_tot;
            vstore16(a0, 0, p1 + task * n4 + i1);
        }
    }
}

__kernel void k1_sum(
    __global float *p0, __global float *p1, int n0, int n1, int n2, int n3)
{
    RANGE(int, task, 1, 1) {
        int q_begin = 0;
        int q_end = n2;
        int begin = 0;
        int end = n3;
        int row = task;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 a0 = 0.0f;
            for (int part = 0; part < n1; ++part) {
                float16 a0x = vload16(0, p0 + (task * n1 + part) * n0 + i1);
                a0 = a0 + a0x;
            }
            put(p1 + i1, a0, live);
        }
    }
}
