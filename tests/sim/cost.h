/*
 * cost: what things take on the simulated machine when times are those of a real one (opt.measured).
 *
 * The figures are those that rows/measure.c prints on a machine.  cost.c has the table: each name, what it is used for,
 * and the figure that stands where none was measured.
 *
 * Must never: be asked in a run whose choices are the seed's (not opt.measured).
 */
#ifndef WEFT_TESTS_SIM_COST_H
#define WEFT_TESTS_SIM_COST_H

#include "tests/sim/sim.h"

bool cost_read(const char *file);                 /* lines NAME NS...; false: not a file of these */
void cost_print(void);

uint64_t cost_point(enum point kind, const char *what);
uint64_t cost_switch(void);                       /* from one task of a CPU to another, or to none */
uint64_t cost_sleep(void);                        /* to the task itself, beside that, of a sleep that ends by a timer */
uint64_t cost_wake(void);                         /* to the caller, of a task that sleeps */
/* From the wake-up until the task runs on a CPU that was idle for so long; by a timer: from its time. */
uint64_t cost_latency(uint64_t idle, bool timer);
uint64_t cost_resched(void);                      /* until a CPU that computes hears that it shall not */
uint64_t cost_slack(void);                        /* of a timer, unless its task asked for less */
void cost_noslack(void);                          /* as for tasks of a real-time priority */
uint64_t cost_slice(void);                        /* of a task that did not ask for less */
uint64_t cost_pause(void);
double cost_access(void);                         /* of the runtime: a plain access, or a call of a function */
double cost_locked(void);                         /* an instruction, its line here */
double cost_miss(void);                           /* a line that is elsewhere */

/* ---- lines.c: cache lines, and the lock that is watched -------------------------------------- */

void line_plain(const void *p, bool write);       /* charges */
void line_atomic(const volatile void *p, bool write, bool locked); /* charges; before the access */
void line_call(void);
void line_watch(const volatile void *lock);       /* a word: 0 when free */
void line_taken(const volatile void *lock);
void line_left(const volatile void *lock);
uint64_t line_held(void);                         /* ns for which the watched lock was held */
void line_reset(void);

#endif
