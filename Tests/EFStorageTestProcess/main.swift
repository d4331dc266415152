import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation

// What the tests of EFStorage start as another process. The first argument says what to do.

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "storm": try Storm.run(directory: arguments[1], milliseconds: Int(arguments[2])!)
case "write-defaults": try DefaultsExchange.write(suite: arguments[1])
case "read-defaults": try DefaultsExchange.read(suite: arguments[1])
case "serve-cache": try CacheService.run(directory: arguments[1])
case "replacements": try Replacements.run(directory: arguments[1])
case "fill-defaults": try DefaultsLosses.fill(suite: arguments[1])
case "exit-defaults":
  try DefaultsLosses.exit(suite: arguments[1], content: Int(arguments[2])!, after: UInt32(arguments[3])!)
case "churn-defaults": try DefaultsLosses.churn(suite: arguments[1])
case "check-defaults": try DefaultsLosses.check(suite: arguments[1])
case "persist-default": try DefaultsLosses.persist(suite: arguments[1], content: Int(arguments[2])!)
default:
  print(
    """
    usage: write-defaults SUITE | read-defaults SUITE | serve-cache DIRECTORY | replacements DIRECTORY
         | fill-defaults SUITE | exit-defaults SUITE CONTENT MICROSECONDS | churn-defaults SUITE | check-defaults SUITE
         | persist-default SUITE CONTENT | storm DIRECTORY MILLISECONDS
    """)
  exit(64)
}
