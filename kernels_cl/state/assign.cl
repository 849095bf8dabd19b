// The initial values of variables that are constants.
//
//   assign_fill    y[i] = x[0] for n elements of type T (-DT=uchar, ushort, uint or ulong, by the size of an element)
//   assign_copy    y[i] = x[i]
//
// One work-item per group.

#include "lib/types.clh"
#include "lib/index.clh"

#ifndef T
#define T uint
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void assign_fill(__global const T *x, __global T *y, int n)
{
    T value = x[0];
    RANGE(int, i, n, 1)
        y[i] = value;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void assign_copy(__global const T *x, __global T *y, int n)
{
    RANGE(int, i, n, 1)
        y[i] = x[i];
}
