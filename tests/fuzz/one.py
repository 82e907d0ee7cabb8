"""One reader's fuzzing, in a process of its own: python -m tests.fuzz.one READER [libFuzzer's arguments]."""

import sys

import atheris

# What is imported here reports its branches to libFuzzer.
with atheris.instrument_imports(include=["fhcrawl"]):
    from tests.fuzz.readers import READERS

if __name__ == "__main__":
    _program, reader, *arguments = sys.argv
    atheris.Setup([sys.argv[0], *arguments], READERS[reader])
    atheris.Fuzz()
