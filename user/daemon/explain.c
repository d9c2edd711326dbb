// SPDX-License-Identifier: BSD-2-Clause
#include "commands.h"

json_object *halo_explain__program(const struct halo_program *p)
{
	json_object *obj = json_object_new_object();

	json_object_object_add(obj, "build_id", json_object_new_string(p->build_id));
	json_object_object_add(obj, "path", json_object_new_string(p->path));
	json_object_object_add(obj, "considered",
			       p->considered ? json_object_get(p->considered)
					     : json_object_new_array());
	json_object_object_add(obj, "sections", halo_status__sections(p));
	json_object_object_add(obj, "events", halo_journal__to_json(&p->journal));
	return obj;
}
