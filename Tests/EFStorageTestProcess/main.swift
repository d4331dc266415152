import Foundation

// What the tests of EFStorage start as another process. The first argument says what to do.

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "storm": try Storm.run(directory: arguments[1], milliseconds: Int(arguments[2])!)
case "write-defaults": try DefaultsExchange.write(suite: arguments[1])
case "read-defaults": try DefaultsExchange.read(suite: arguments[1])
case "serve-defaults": try DefaultsService.run(suite: arguments[1])
case "serve-cache": try CacheService.run(directory: arguments[1])
case "replacements": try Replacements.run(directory: arguments[1])
default:
  print("usage: storm DIRECTORY MILLISECONDS | serve-cache DIRECTORY | replacements DIRECTORY")
  print("     | write-defaults SUITE | read-defaults SUITE | serve-defaults SUITE")
  exit(64)
}
