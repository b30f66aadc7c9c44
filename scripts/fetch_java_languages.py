#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the compilers of other languages of the JVM that the long tests have targets in.

usage: fetch_java_languages.py

Below ~/.cache/allframes/java-languages there will be one folder for each language with its compiler
and all that it needs, from Maven's central repository by the machine's mvn. What is there stays.
"""
import pathlib
import shutil
import subprocess
import tempfile

DIRECTORY = pathlib.Path.home() / ".cache/allframes/java-languages"
COMPILERS = {
    "scala": ("org.scala-lang", "scala-compiler", "2.13.14"),
    "kotlin": ("org.jetbrains.kotlin", "kotlin-compiler-embeddable", "1.9.24"),
    "clojure": ("org.clojure", "clojure", "1.11.3"),
}
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>allframes</groupId><artifactId>languages</artifactId><version>1</version>
<dependencies><dependency>
<groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>
</dependency></dependencies>
</project>
"""


def class_path(language):
    """The archives of @language's compiler as a class path; "" if it was not brought."""
    return ":".join(map(str, sorted((DIRECTORY / language).glob("*.jar"))))


def fetch(language):
    """The folder of @language, made if it is not there."""
    folder = DIRECTORY / language
    if folder.exists():
        return folder
    new = DIRECTORY / (language + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as directory:
        pom = pathlib.Path(directory) / "pom.xml"
        pom.write_text(_POM % COMPILERS[language])
        subprocess.run(["mvn", "-q", "-B", "-f", pom, _PLUGIN, "-DoutputDirectory=%s" % new],
                       check=True, stdin=subprocess.DEVNULL)
    new.rename(folder)
    return folder


if __name__ == "__main__":
    for name in COMPILERS:
        print(fetch(name), flush=True)
