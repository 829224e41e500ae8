/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-glib/json-glib.h>

/* One JSON object, and nothing else: no comments, no second value behind it, no NUL in a text, nothing that
 * would be no JSON any more when it is written again, and at most @depth_max brackets inside each other.
 * Never edited: what is made of it may share it. NULL and InvalidArgs: the reason, to be put behind a name
 * and a colon. */
JsonNode *carved_json_parse(const char *text, size_t len, unsigned depth_max, GError **error);
