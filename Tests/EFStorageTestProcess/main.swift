import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation

// What the tests of EFStorage start as another process. The first argument says what to do.

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "write-defaults": try DefaultsExchange.write(suite: arguments[1])
case "read-defaults": try DefaultsExchange.read(suite: arguments[1])
case "serve-cache": try CacheService.run(directory: arguments[1])
case "replacements": try Replacements.run(directory: arguments[1])
default:
  print("usage: write-defaults SUITE | read-defaults SUITE | serve-cache DIRECTORY | replacements DIRECTORY")
  exit(64)
}
