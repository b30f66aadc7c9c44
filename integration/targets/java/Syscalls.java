// SPDX-License-Identifier: Apache-2.0
// Calls of the kernel, and of the JVM's own native methods.
//
// chain: main@main > turn@turn > LIBRARY
// chain: main@main turn@turn > (reads@reads|channels@channels|yields@yields|natives@natives|sleeps@sleeps) LIBRARY

import java.io.FileInputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

public class Syscalls {
	static int reads(FileInputStream in, byte[] bytes) throws Exception {
		int sum = 0; //: reads
		for (int i = 0; i < 1000; i++) //: reads
			sum += in.read(bytes); //: reads
		return sum; //: reads
	}

	static int channels(FileChannel channel, ByteBuffer buffer) throws Exception {
		int sum = 0; //: channels
		for (int i = 0; i < 1000; i++) { //: channels
			buffer.clear(); //: channels
			sum += channel.read(buffer); //: channels
		}
		return sum; //: channels
	}

	static int yields() {
		// Where others want the CPU, each gives it away for milliseconds.
		for (int i = 0; i < 2; i++) //: yields
			Thread.yield(); //: yields
		return 1; //: yields
	}

	static int natives(Object[] objects) {
		int sum = 0; //: natives
		for (int i = 0; i < objects.length; i++) { //: natives
			objects[i] = new Object(); //: natives
			sum += System.identityHashCode(objects[i]); //: natives
		}
		sum += new int[] { 3, 4 }.clone()[0]; //: natives
		return sum + Runtime.getRuntime().availableProcessors(); //: natives
	}

	static int sleeps() throws Exception {
		Thread.sleep(0, 1000); //: sleeps
		return 1; //: sleeps
	}

	static void turn(FileInputStream in, FileChannel channel, ByteBuffer buffer, Object[] objects)
			throws Exception {
		byte[] bytes = new byte[4096]; //: turn
		Target.sink += reads(in, bytes); //: turn
		Target.sink += channels(channel, buffer); //: turn
		Target.sink += yields(); //: turn
		Target.sink += natives(objects); //: turn
		Target.sink += sleeps(); //: turn
	} //: turn

	public static void main(String[] arguments) throws Exception {
		FileInputStream in = new FileInputStream("/dev/zero");
		FileChannel channel = new RandomAccessFile("/dev/zero", "r").getChannel();
		ByteBuffer buffer = ByteBuffer.allocateDirect(4096);
		Object[] objects = new Object[5000];
		turn(in, channel, buffer, objects);
		Target.ready(Syscalls.class);
		while (true) //: main
			turn(in, channel, buffer, objects); //: main
	}
}
