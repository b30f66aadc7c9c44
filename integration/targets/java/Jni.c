/* SPDX-License-Identifier: Apache-2.0 */
/* The native methods of Jni.java. */
#include <jni.h>

static volatile jint sink;

JNIEXPORT jint JNICALL Java_Jni_leaf(JNIEnv *env, jclass class, jint n)
{
	jint total = n;

	(void)env;
	(void)class;
	for (jint i = 0; i < n; i++)
		total = (jint)((unsigned int)total * 31 + (unsigned int)(i ^ total));
	sink = total;
	return total;
}

JNIEXPORT jint JNICALL Java_Jni_down(JNIEnv *env, jclass class, jint depth)
{
	jmethodID up = (*env)->GetStaticMethodID(env, class, "up", "(I)I");

	return (*env)->CallStaticIntMethod(env, class, up, depth) + 1;
}

JNIEXPORT jint JNICALL Java_Jni_throwing(JNIEnv *env, jclass class)
{
	jmethodID fails = (*env)->GetStaticMethodID(env, class, "fails", "()I");

	return (*env)->CallStaticIntMethod(env, class, fails) + 1;
}

JNIEXPORT jint JNICALL Java_Jni_strings(JNIEnv *env, jclass class, jstring text)
{
	const char *characters = (*env)->GetStringUTFChars(env, text, NULL);
	jint length = (*env)->GetStringUTFLength(env, text);

	(void)class;
	if (characters)
		(*env)->ReleaseStringUTFChars(env, text, characters);
	return length;
}
