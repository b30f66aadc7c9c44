/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are inlined into each other, some in loops, some behind branches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left;
	struct node *right;
	double value;
};

static inline double weigh(const struct node *node)
{
	return node ? sqrt(node->value) + 1 : 0;
}

static inline double both(const struct node *node)
{
	return weigh(node->left) * 2 + weigh(node->right);
}

static struct node *insert(struct node *node, double value)
{
	if (!node) {
		node = calloc(1, sizeof(*node));
		if (!node)
			abort();
		node->value = value;
	} else if (value < node->value) {
		node->left = insert(node->left, value);
	} else {
		node->right = insert(node->right, value);
	}
	return node;
}

static double total(const struct node *node)
{
	return node ? both(node) + total(node->left) + total(node->right) : 0;
}

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

double all_calls(int count, const char *text)
{
	double values[100];
	struct node *root = NULL;

	for (int i = 0; i < 100; i++) {
		values[i] = fmod(i * 37.5 + count, 11) + strlen(text);
		root = insert(root, values[i]);
	}
	qsort(values, 100, sizeof(values[0]), compare);
	return total(root) + values[count % 100];
}

#ifndef NO_MAIN
int main(int argc, char **argv)
{
	printf("%f\n", all_calls(argc, argv[0]));
	return 0;
}
#endif
