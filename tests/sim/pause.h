/*
 * pause: included before each file of the simulated runtime: a pause takes time there.  Without it, an M that
 * spins would see no time go by.
 */
#ifndef WEFT_TESTS_SIM_PAUSE_H
#define WEFT_TESTS_SIM_PAUSE_H

#include "runtime/arch/cpu.h"

void sim_pause(void);
#define arch_pause() sim_pause()

#endif
