// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library that runs a program several times at once, in different
 * nodes. Built with -shared -fPIC.
 *
 * A line on standard input is a run: the node, the file for its output, and the
 * arguments. The program, once it has been loaded, is forked for each of them: in
 * User Mode Linux, that costs a fraction of what starting it does. The exit
 * status is 1 if one of the runs fails, which a line on standard error names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "namespace.h"
#include "program.h"

#define MAX_WORDS	64

typedef int main_function(int argc, char **argv, char **envp);

static main_function *program;

static struct {
	pid_t pid;
	char *line;
} *runs;

static void open_as(const char *path, int flags, int as)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0 || dup2(fd, as) < 0)
		fail(path);
	close(fd);
}

static int run(char *line, char *name, char **envp)
{
	char *words[MAX_WORDS + 2] = {}, *save, *word;
	int count = 0;

	for (word = strtok_r(line, " ", &save); word && count < MAX_WORDS;
	     word = strtok_r(NULL, " ", &save))
		words[count++] = word;
	if (count < 2)
		return 2;
	enter_namespace(words[0]);
	open_as("/dev/null", O_RDONLY, STDIN_FILENO);
	open_as(words[1], O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
	words[1] = name;
	return program(count - 1, words + 1, envp);
}

static int run_all(int argc, char **argv, char **envp)
{
	int count, i, status, failed = 0;
	char *line = NULL;
	size_t size = 0;

	(void)argc;
	for (count = 0; getline(&line, &size, stdin) > 0; count++) {
		runs = reallocarray(runs, count + 1, sizeof(*runs));
		if (!runs)
			fail("runs");
		line[strcspn(line, "\n")] = '\0';
		runs[count].line = line;
		line = NULL;
	}
	for (i = 0; i < count; i++) {
		runs[i].pid = fork();
		if (!runs[i].pid)
			exit(run(runs[i].line, argv[0], envp));
		if (runs[i].pid < 0)
			fail("fork");
	}
	for (i = 0; i < count; i++) {
		if (waitpid(runs[i].pid, &status, 0) < 0)
			fail("wait");
		if (!status)
			continue;
		failed = 1;
		fprintf(stderr, "airtcp: failed: %s %s (exit code %d)\n",
			argv[0], runs[i].line, WIFEXITED(status) ?
			WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
	return failed;
}

typedef int start_function(main_function *main, int argc, char **argv,
			   void (*init)(void), void (*fini)(void),
			   void (*rtld_fini)(void), void *stack_end);

int __libc_start_main(main_function *main, int argc, char **argv,
		      void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	start_function *start = dlsym(RTLD_NEXT, "__libc_start_main");

	program = main;
	return start(run_all, argc, argv, init, fini, rtld_fini, stack_end);
}
