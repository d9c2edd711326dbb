// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "../lib/util.h"
#include "commands.h"
#include "program.h"
#include "record.h"

static json_object *ping(struct halo_daemon *d, const struct halo_request *request,
			 struct halo_err *err)
{
	json_object *obj = json_object_new_object();

	(void)d;
	(void)request;
	(void)err;
	json_object_object_add(obj, "pid", json_object_new_int(getpid()));
	json_object_object_add(obj, "version", json_object_new_string(HALO_VERSION));
	return obj;
}

static json_object *enroll(struct halo_daemon *d, const struct halo_request *request,
			   struct halo_err *err)
{
	static const char *const policies[] = {"exact", "contract", "reassoc"};
	const char *fp = policies[0];
	struct halo_program *p;

	/* The request goes away, the policy's name stays. */
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(request->fp, policies[i]))
			fp = policies[i];
	if (halo_program__enroll(d, &request->target, fp, &p, err))
		return NULL;
	return halo_status__program(p);
}

static json_object *unenroll(struct halo_daemon *d, const struct halo_request *request,
			     struct halo_err *err)
{
	struct halo_program *p;

	if (halo_program__find(d, &request->target, &p, err))
		return NULL;
	halo_program__unenroll(p);
	return json_object_new_object();
}

static json_object *explain(struct halo_daemon *d, const struct halo_request *request,
			    struct halo_err *err)
{
	struct halo_program *p;

	if (halo_program__find(d, &request->target, &p, err))
		return NULL;
	return halo_explain__program(p);
}

static json_object *profile(struct halo_daemon *d, const struct halo_request *request,
			    struct halo_err *err)
{
	if (!request->seconds) {
		halo_err__set(err, -EINVAL, "profile: no number of seconds given");
		return NULL;
	}
	halo_record__begin(d, &request->target, request->seconds, request->conn, err);
	return NULL;
}

static json_object *list(struct halo_daemon *d, const struct halo_request *request,
			 struct halo_err *err)
{
	(void)request;
	(void)err;
	return halo_status__list(d);
}

static json_object *status(struct halo_daemon *d, const struct halo_request *request,
			   struct halo_err *err)
{
	(void)request;
	(void)err;
	return halo_status__all(d);
}

static json_object *stop_daemon(struct halo_daemon *d, const struct halo_request *request,
				struct halo_err *err)
{
	(void)d;
	(void)request;
	(void)err;
	return json_object_new_object();
}

static const struct command {
	const char *name;
	bool takes_target;
	json_object *(*run)(struct halo_daemon *d, const struct halo_request *request,
			    struct halo_err *err);
} commands[] = {
	{"ping", false, ping},	      {"stop", false, stop_daemon}, {"enroll", true, enroll},
	{"unenroll", true, unenroll}, {"list", false, list},	    {"status", false, status},
	{"explain", true, explain},   {"profile", true, profile},
};

json_object *halo_command__run(struct halo_daemon *d, const struct halo_request *request,
			       bool *stop, struct halo_err *err)
{
	const struct halo_target *t = &request->target;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, request->cmd))
			continue;
		if (commands[i].takes_target && !t->path && !t->pid && !t->build_id) {
			halo_err__set(err, -EINVAL, "%s: no program given", request->cmd);
			halo_err__remedy(err, "give its path, its build-id or a pid");
			return NULL;
		}
		*stop = commands[i].run == stop_daemon;
		return commands[i].run(d, request, err);
	}
	halo_err__set(err, -ENOSYS, "unknown command \"%.64s\"", request->cmd);
	halo_err__cause(err, "command line and daemon are of different versions");
	halo_err__remedy(err, "restart the daemon: halo-bpf stop, halo-bpf start");
	return NULL;
}
