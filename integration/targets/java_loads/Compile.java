// SPDX-License-Identifier: Apache-2.0
// The JDK's compiler, in eight threads, over the sources that are named; what it makes is thrown away.

import java.io.File;
import java.io.OutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

public class Compile {
	static class Nowhere extends SimpleJavaFileObject {
		Nowhere(String name) {
			super(URI.create("mem:///" + name.replace('.', '/') + ".class"), Kind.CLASS);
		}

		@Override public OutputStream openOutputStream() {
			return new OutputStream() {
				@Override public void write(int one) {
				}

				@Override public void write(byte[] bytes, int from, int count) {
				}
			};
		}
	}

	static class Throwing extends ForwardingJavaFileManager<StandardJavaFileManager> {
		final StandardJavaFileManager standard;

		Throwing(StandardJavaFileManager files) {
			super(files);
			standard = files;
		}

		@Override public JavaFileObject getJavaFileForOutput(JavaFileManager.Location location,
				String name, JavaFileObject.Kind kind, FileObject sibling) {
			return new Nowhere(name);
		}
	}

	public static void main(String[] arguments) throws Exception {
		List<File> sources = new ArrayList<>();
		for (String name : arguments)
			sources.add(new File(name));
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		Load.run("j-Compile", number -> {
			try (Throwing files = new Throwing(compiler.getStandardFileManager(null, null, null))) {
				if (!compiler.getTask(null, files, null,
						Arrays.asList("-g", "-nowarn", "-proc:none", "-encoding", "UTF-8"), null,
						files.standard.getJavaFileObjectsFromFiles(sources)).call())
					throw new IllegalStateException("it does not compile");
			}
		});
	}
}
