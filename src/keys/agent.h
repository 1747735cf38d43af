/* Human or bot, by what the agent declares: crawlers, tools and empty agents are bots, and so is
 * what does not declare a browser. A list of substrings, in any letter case; the built-in one is in
 * agent.c. Judging scans the agent once; the planner (plan.h) keeps the answers of frequent agents,
 * so that it happens about once per different agent. A list is constant and may be shared by
 * threads. */
#ifndef KEYS_AGENT_H
#define KEYS_AGENT_H

#include "base/err.h"
#include "base/slice.h"

enum agent_class { AGENT_HUMAN, AGENT_BOT };

struct agent_list;
/* text: one substring a line, '#' comments, "!cubot" an exception (text that is passed over, so
 * that no substring is found in it); NULL: the built-in list. 0; -EINVAL with the line and what is
 * wrong with it; -ENOMEM. */
int agent_list_new(struct agent_list **ret, const char *text, struct err *e);
struct agent_list *agent_list_free(struct agent_list *l);

enum agent_class agent_judge(const struct agent_list *l, struct slice agent); /* no cache, pure */
const char *agent_class_name(enum agent_class c);                             /* "human", "bot" */

#endif
