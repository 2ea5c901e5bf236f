/* Where what is found about a call's buffers stands: at the operation in progress, or at a call of MPI
 * that is no operation of the recorder's. */
#ifndef SIM_WORLDS_TOLD_H
#define SIM_WORLDS_TOLD_H

/* Until it is set again, what this thread finds is about a call that returns to `site`; NULL: about
 * the operation in progress. No rank may get its turn meanwhile. */
void sim_told_set(const void *site);
const void *sim_told_site(void);
void sim_told_note(const char *code, const char *text);

#endif
