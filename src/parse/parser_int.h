/* Inside parse: what detection asks beyond parser.h. */
#ifndef PARSE_PARSER_INT_H
#define PARSE_PARSER_INT_H

#include "parse/parser.h"

/* The last record's line ended where its format ends. */
bool parser_was_whole(const struct parser *p);

#endif
