// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "cli/client.h"
#include "cli/json.h"

static char dir[] = "/tmp/halo-client.XXXXXX";
static char path[64];

/* A daemon for one request: answers @size bytes, with the request if @answer is NULL. */
static pid_t serve(const char *answer, size_t size)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), peer, room = 4 << 20;
	char buf[4096];
	ssize_t n;
	pid_t pid;

	unlink(path);
	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	pid = fork();
	if (pid == 0) {
		peer = accept(fd, NULL, NULL);
		setsockopt(peer, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
		n = recv(peer, buf, sizeof(buf), 0);
		if (size || !answer)
			_exit(send(peer, answer ? answer : buf, answer ? size : (size_t)n, 0) < 0);
		_exit(0);
	}
	close(fd);
	return pid;
}

static enum cli_exit call(pid_t server, json_object **answer, struct halo_err *err)
{
	json_object *args = json_object_new_object();
	enum cli_exit ret;
	int status = 0;

	json_object_object_add(args, "pid", json_object_new_int(7));
	ret = client__call_at(path, "enroll", args, answer, err);
	if (server)
		waitpid(server, &status, 0);
	assert_int_equal(status, 0);
	return ret;
}

static void test_request(void **state)
{
	json_object *answer;
	struct halo_err err;

	(void)state;
	assert_int_equal(call(serve(NULL, 0), &answer, &err), CLI_OK);
	assert_string_equal(js__str(answer, "cmd"), "enroll");
	assert_int_equal(js__int(js__get(answer, "args"), "pid"), 7);
	json_object_put(answer);
}

static void test_refusal(void **state)
{
	static const char text[] =
		"{\"error\":{\"code\":\"EPERM\",\"errno\":1,\"what\":\"no\",\"cause\":\"c\"}}";
	json_object *answer;
	struct halo_err err;

	(void)state;
	/* What the daemon may not do is no matter of this user's privileges. */
	assert_int_equal(call(serve(text, strlen(text)), &answer, &err), CLI_FAILED);
	assert_null(answer);
	assert_int_equal(err.code, -EPERM);
	assert_string_equal(err.what, "no");
	assert_string_equal(err.cause, "c");
}

static void test_nonsense(void **state)
{
	static const char *const answers[] = {"", "[1]", "x", "{\"a\":", "\"text\"", "null"};
	json_object *answer;
	struct halo_err err;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		memset(&err, 0, sizeof(err));
		assert_int_equal(call(serve(answers[i], strlen(answers[i])), &answer, &err),
				 CLI_FAILED);
		assert_null(answer);
		assert_true(err.code < 0 && err.what[0]);
	}
}

static void test_long_answers(void **state)
{
	char *text = malloc(CLIENT_MESSAGE_MAX + 1);
	json_object *answer;
	struct halo_err err;

	(void)state;
	memset(text, ' ', CLIENT_MESSAGE_MAX + 1);
	memcpy(text, "{}", 2);
	assert_int_equal(call(serve(text, CLIENT_MESSAGE_MAX), &answer, &err), CLI_OK);
	json_object_put(answer);
	assert_int_equal(call(serve(text, CLIENT_MESSAGE_MAX + 1), &answer, &err), CLI_FAILED);
	assert_int_equal(err.code, -EMSGSIZE);
	free(text);
}

static void test_absent(void **state)
{
	json_object *answer;
	struct halo_err err;

	(void)state;
	unlink(path);
	assert_int_equal(call(0, &answer, &err), CLI_NO_DAEMON);
	assert_string_equal(err.what, "halo-bpf is not running");
	assert_true(strstr(err.remedy, "halo-bpf start") != NULL);

	/* A socket that a daemon left when it was killed. */
	waitpid(serve(NULL, 0), NULL, WNOHANG);
	assert_int_equal(client__call_at(path, "ping", NULL, &answer, &err), CLI_OK);
	json_object_put(answer);
	wait(NULL);
	assert_int_equal(call(0, &answer, &err), CLI_NO_DAEMON);
}

static void test_not_allowed(void **state)
{
	json_object *answer;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	unlink(path);
	pid = fork();
	if (pid == 0) {
		struct halo_err err = {};

		if (setuid(65534))
			_exit(100);
		_exit(client__call_at(path, "ping", NULL, &answer, &err));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), CLI_PRIVILEGE);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),	 cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_nonsense), cmocka_unit_test(test_long_answers),
		cmocka_unit_test(test_absent),	 cmocka_unit_test(test_not_allowed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
