/*
 * fair: fair.c says what.
 */
#ifndef WEFT_TESTS_SIM_FAIR_H
#define WEFT_TESTS_SIM_FAIR_H

#include "tests/sim/sim.h"

void fair_awake(struct task *t, struct task *const *on, unsigned cpus); /* it wakes, or is new */
bool fair_over(struct task *t, const struct task *first); /* first, which waits, has the CPU next */
void fair_yield(struct task *t);

#endif
