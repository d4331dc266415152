// Whether what a client puts in place of hooks and defaults is called when everything is optimized: prints "replaced".
// Here, since this package is the one that `Scripts/test` builds for release.

try Replacements.run(directory: CommandLine.arguments[1])
