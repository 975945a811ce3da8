// SPDX-License-Identifier: GPL-2.0-only
/* Never enters the kernel. */
int main(void)
{
	for (volatile int i = 0;; i++)
		;
}
