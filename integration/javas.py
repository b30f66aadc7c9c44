# SPDX-License-Identifier: Apache-2.0
"""The JDKs at hand, the modes in which they run, and the targets as they are compiled: this machine's
own, and what scripts/fetch_javas.py brought.
"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_java_languages
import fetch_javas
from build_targets import one_at_a_time
import java_chains
import pythons
from runtimes import Finder, Lacking, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "java")
OUTPUT = os.path.join(ROOT, "build", "integration", "java")
CLASSES = os.path.join(OUTPUT, "classes")
# In an archive names are what they are, whatever the locale.
ARCHIVE = os.path.join(OUTPUT, "classes.jar")
# By it the archive is an agent of the JVM, too.
MANIFEST = os.path.join(OUTPUT, "manifest.txt")
LIBRARY = os.path.join(OUTPUT, "libjni.so")
LOADS = os.path.join(ROOT, "integration", "targets", "java_loads")
LOAD_CLASSES = os.path.join(OUTPUT, "loads")
MACHINE = "/usr/lib/jvm"

_DIAGNOSTIC = "-XX:+UnlockDiagnosticVMOptions"
_EXPERIMENTAL = "-XX:+UnlockExperimentalVMOptions"
# Then a target ends.
_OBSERVING = "-Dallframes.observe=2"
# A JVM refuses options that it does not know; such a mode is left out.
MODES = {
    "plain": [],
    "int": ["-Xint"],
    "c1": ["-XX:TieredStopAtLevel=1"],
    "c2": ["-XX:-TieredCompilation"],
    "comp": ["-Xcomp"],
    "exact": [_DIAGNOSTIC, "-XX:+DebugNonSafepoints"],
    "serial": ["-XX:+UseSerialGC"],
    "parallel": ["-XX:+UseParallelGC"],
    "g1": ["-XX:+UseG1GC"],
    "cms": ["-XX:+UseConcMarkSweepGC"],
    "z": [_EXPERIMENTAL, "-XX:+UseZGC"],
    "shenandoah": [_EXPERIMENTAL, "-XX:+UseShenandoahGC"],
    "wide-oops": ["-XX:-UseCompressedOops"],
    "wide-classes": ["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"],
    "compact": [_EXPERIMENTAL, "-XX:+UseCompactObjectHeaders"],
    "no-cds": ["-Xshare:off"],
    "one-heap": ["-XX:-SegmentedCodeCache"],
    "small-cache": ["-XX:ReservedCodeCacheSize=6m"],
    "large-pages": ["-XX:+UseTransparentHugePages"],
    "aot": ["-XX:AOTMode=on"],
    "epsilon": [_EXPERIMENTAL, "-XX:+UseEpsilonGC"],
    "z-gen": ["-XX:+UseZGC", "-XX:+ZGenerational"],
    "shenandoah-gen": [_EXPERIMENTAL, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"],
    # There is no other client for 64 bits.
    "client": ["-XX:+UseSerialGC", "-XX:+NeverActAsServerClassMachine"],
    "cds-dynamic": ["-Xshare:on"],
}
# First versions of modes for which the JVM's options do not say it.
MODES_FROM = {"client": 9, "cds-dynamic": 13}
# In other modes than these, what interests is the JVM, and a few targets do.
LANGUAGE_MODES = ["plain", "int", "c1", "c2", "comp", "exact"]
SHORT_TARGETS = ["Calls", "Exceptions", "Garbage", "Inlined", "Reflection"]
# Where nothing is ever freed, those that do not need more.
MODE_TARGETS = {"epsilon": ["Calls", "Inlined"]}
HEAP = "-Xmx256m"
# From then on the JVM warns of C.
NATIVE_ACCESS_FROM = 22

_COMPILERS = {
    "scala": ["scala.tools.nsc.Main", "-nowarn", "-release", "8"],
    "kotlin": ["org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-nowarn", "-no-stdlib", "-no-reflect",
               "-jvm-target", "1.8"],
}
_LIBRARIES = {"scala": "scala-library-*.jar", "kotlin": "kotlin-stdlib-[0-9]*.jar",
              "clojure": "*.jar"}


class Java(Runtime):
    """One JDK. @home: its folder; @root: the file system that it lives in, "/" the machine's own."""

    def __init__(self, name, home, version, root="/"):
        self.name = name
        self.home = home
        self.version = version
        self.root = root

    def path(self, program="java"):
        """A program of it, within its root."""
        return os.path.join(self.home, "bin", program)

    def command(self, *arguments, program="java"):
        """The command to run it with @arguments."""
        if self.root == "/":
            return [self.path(program), *arguments]
        os.makedirs(OUTPUT, exist_ok=True)
        return pythons.enter(self.root, [OUTPUT], self.path(program), *arguments)

    @functools.lru_cache(maxsize=None)
    def options(self, mode):
        """The options of a mode of this name. Raises Lacking where it has none such."""
        options = MODES[mode]
        if self.version < MODES_FROM.get(mode, 0):
            raise Lacking("from JDK %d on" % MODES_FROM[mode])
        if options and subprocess.run(self.command(*options, HEAP, "-version"), check=False,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL).returncode:
            raise Lacking("%s has no %s" % (self, " ".join(options)))
        return options

    def target(self, target, mode, *more):
        """The command that runs @target, with @more options of the JVM."""
        if self.version < target.release:
            raise Lacking("from JDK %d on" % target.release)
        if not _can_compile(target.language):
            raise Lacking("no compiler of %s was brought" % target.language)
        options = [*self.options(mode), HEAP, "-Xss2m",
                   "-XX:ErrorFile=" + os.path.join(OUTPUT, "crash-%p.log"), *more, "-Dfile.encoding=UTF-8",
                   "-Dallframes.library=" + LIBRARY, "-cp", ":".join([ARCHIVE, *_libraries(target.language)])]
        if self.version >= NATIVE_ACCESS_FROM:
            options.append("--enable-native-access=ALL-UNNAMED")
        if target.is_agent:
            options.append("-javaagent:" + ARCHIVE)
        if mode == "aot":
            options += ["-XX:AOTCache=" + self._archive(target, mode, options)]
        if mode == "cds-dynamic":
            options += ["-XX:SharedArchiveFile=" + self._archive(target, mode, options)]
        return self.command(*options, *target.program)

    def _archive(self, target, mode, options):
        """The archive of @target's classes, made if it is not there or of older ones, which the JVM refuses."""
        archive = os.path.join(OUTPUT, "%s-%s.%s" % (self.name, target.name, mode))
        options = [option for option in options if option not in MODES[mode]]
        if os.path.exists(archive) and os.path.getmtime(archive) > os.path.getmtime(ARCHIVE):
            return archive
        configuration = "-XX:AOTConfiguration=" + archive + ".conf"
        steps = {
            "aot": [["-XX:AOTMode=record", configuration, _OBSERVING],
                    ["-XX:AOTMode=create", configuration, "-XX:AOTCache=" + archive]],
            "cds-dynamic": [["-XX:ArchiveClassesAtExit=" + archive, _OBSERVING]],
        }
        for step in steps[mode]:
            done = subprocess.run(self.command(*step, *options, *target.program), check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if done.returncode:
                raise RuntimeError("%s: no archive: %s" % (self, done.stdout[-2000:]))
        return archive

    @property
    def directories(self):
        """Where its files lie, for those that look at them by name."""
        found = [os.path.join(self.home, "bin"), os.path.join(self.home, "jre", "bin"),
                 *[os.path.join(self.home, *rest) for rest in (
                     ("lib",), ("lib", "server"), ("jre", "lib", "amd64"))],
                 "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu"]
        return [self.root.rstrip("/") + directory for directory in found]


def _version_of(home):
    """The JDK's version by its file `release`, 0 where that does not tell it."""
    try:
        with open(os.path.join(home, "release"), encoding="utf-8") as file:
            match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', file.read(), re.M)
    except OSError:
        return 0
    return int(match[1]) if match else 0


def _of_machine():
    """The machine's JDKs, the oldest first."""
    homes = {os.path.realpath(path) for path in glob.glob(MACHINE + "/*")
             if os.path.exists(os.path.join(path, "bin", "javac"))}
    found = sorted((_version_of(home), home) for home in homes)
    return {"machine-%d" % version: Java("machine-%d" % version, home, version)
            for version, home in found if version}


def _fetched():
    """What fetch_javas.py brought."""
    found = {}
    for suite, (architecture, _, versions) in fetch_javas.ROOTS.items():
        for version in versions if architecture == "amd64" else []:
            home = os.path.dirname(os.path.dirname(fetch_javas.java_path("amd64", version, "javac")))
            root = str(fetch_javas.JAVAS / suite)
            if os.path.exists(root + home):
                name = "%s-%d" % (suite, version)
                found[name] = Java(name, home, version, root)
    return found


def skip_missing(tap):
    """In the long tier, a result for each JDK that was not brought: what is not there is not tested."""
    for suite, (architecture, _, versions) in fetch_javas.ROOTS.items():
        for version in versions if architecture == "amd64" else []:
            if "%s-%d" % (suite, version) not in fetched():
                tap.skip("stacks in %s-%d" % (suite, version), "scripts/fetch_javas.py did not bring it")


# The short tier has the machine's own.
FINDER = Finder(_of_machine, _fetched, lambda machine, _: machine, r"\w+-\d+", MODES)
of_machine, fetched, at_hand = FINDER.of_machine, FINDER.fetched, FINDER.at_hand


def chosen(arguments, is_long):
    """The JDKs at hand by name, and (Java, mode, targets' names) of what @arguments name, none if
    there are none.
    """
    found = FINDER.chosen(arguments, is_long)
    return found.every, [(java, mode, found.names)
                         for java in (found.runtimes or list(found.every.values())[-1:] if arguments else [])
                         for mode in found.modes or ["plain"]]


def compiler(release):
    """The oldest JDK of the machine that compiles for @release; None if there is none."""
    return next((java for java in of_machine().values() if java.version >= release), None)


def disassembled(name, option, method):
    """What javap tells with @option of the classes of the target @name, one by one: class.method, as the JVM calls it, and a
    value, for each match of @method, whose groups are the method as in Java's source and that value.
    """
    paths = glob.glob(os.path.join(CLASSES, name + "*.class"))
    text = subprocess.run([compiler(8).path("javap"), option, "-p", *paths], check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True).stdout
    # Each class begins with the name of its source.
    for path, part in zip(paths, text.split("Compiled from ")[1:], strict=True):
        one = os.path.basename(path)[:-len(".class")]
        special = {one: "<init>", "static {}": "<clinit>"}
        for found, value in method.findall(part):
            yield "%s.%s" % (one, special.get(found, found)), value


def find_targets(names=()):
    """All targets, or @names, by name."""
    paths = sorted(path for suffix in java_chains.LANGUAGES
                   for path in glob.glob(TARGETS + "/*." + suffix))
    targets = {target.name: target for target in map(
        java_chains.Target, (path for path in paths if not path.endswith("/Target.java")))}
    return {name: target for name, target in targets.items() if not names or name in names}


@one_at_a_time
def build(names=()):
    """Compiles the targets, if a source is newer than they are. Those, or @names, for which there is
    a compiler.
    """
    targets = [target for target in find_targets(names).values() if compiler(target.release)]
    if os.path.exists(ARCHIVE) and os.path.getmtime(ARCHIVE) > max(
            map(os.path.getmtime, glob.glob(TARGETS + "/*") + [__file__])):
        return targets
    shutil.rmtree(CLASSES, ignore_errors=True)
    os.makedirs(CLASSES)
    by_release = {8: [os.path.join(TARGETS, "Target.java")]}
    others = []
    for target in find_targets().values():
        if target.language == "java":
            by_release.setdefault(target.release, []).append(target.path)
        elif _can_compile(target.language):
            others.append(target)
    for release, paths in sorted(by_release.items()):
        if compiler(release):
            _compile(release, CLASSES, paths)
    for target in others:
        _compile_other(target)
    _build_library()
    with open(MANIFEST, "w", encoding="utf-8") as file:
        file.write("Premain-Class: Redefined\nCan-Redefine-Classes: true\n")
    _run(compiler(8).path("jar"), "cfm", ARCHIVE + ".new", MANIFEST, "-C", CLASSES, ".")
    os.replace(ARCHIVE + ".new", ARCHIVE)
    return targets


def _can_compile(language):
    return language == "java" or bool(fetch_java_languages.class_path(language))


def _libraries(language):
    """What programs in @language need, where all roots see it."""
    if language == "java":
        return []
    found = glob.glob(str(fetch_java_languages.DIRECTORY / language / _LIBRARIES[language]))
    os.makedirs(OUTPUT, exist_ok=True)
    return [shutil.copy2(path, OUTPUT) for path in found]


def _compile_other(target):
    if target.language == "clojure":
        # It compiles what it loads, by the name of the program.
        _run(compiler(8).path(), "-cp", ":".join([CLASSES, TARGETS, fetch_java_languages.class_path("clojure")]),
             "-Dclojure.compile.path=" + CLASSES, "clojure.lang.Compile", target.name)
        return
    class_path = ":".join([CLASSES, *_libraries(target.language)])
    _run(compiler(8).path(), "-cp", fetch_java_languages.class_path(target.language),
         *_COMPILERS[target.language], "-cp", class_path, "-d", CLASSES, target.path)


def build_loads():
    """Compiles the loads, and puts what they read beside them: sources of Java 8."""
    sources = os.path.join(LOAD_CLASSES, "sources")
    shutil.rmtree(LOAD_CLASSES, ignore_errors=True)
    os.makedirs(sources)
    _compile(8, LOAD_CLASSES, glob.glob(LOADS + "/*.java"))
    for target in find_targets().values():
        if target.release == 8 and target.language == "java":
            shutil.copy2(target.path, sources)
    shutil.copy2(os.path.join(TARGETS, "Target.java"), sources)


def _compile(release, folder, paths):
    _run(compiler(release).path("javac"), "-nowarn", "-Xlint:-options", "-encoding", "UTF-8",
         "--release", str(release), "-cp", folder, "-d", folder, *paths)


def _run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout)


def _build_library():
    newest = list(of_machine().values())[-1]
    include = os.path.join(newest.home, "include")
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-fPIC", "-shared", "-I" + include,
                    "-I" + include + "/linux", "-o", LIBRARY, os.path.join(TARGETS, "Jni.c")],
                   check=True)


if __name__ == "__main__":
    for one in at_hand(True).values():
        print(one, one.version, one.home, one.root)
