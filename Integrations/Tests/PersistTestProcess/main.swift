import Foundation
import Hummingbird
import LMDBCaching
import LMDBCachingHummingbird

// Runs one operation of a driver: `DIRECTORY create|set|get|remove KEY [VALUE]`.

let words = CommandLine.arguments
let driver = LMDBPersistDriver(try LMDBCache(directory: URL(fileURLWithPath: words[1])))
let key = words[3]
do {
  switch words[2] {
  case "create":
    try await driver.create(key: key, value: words[4])
    print("created")
  case "set": try await driver.set(key: key, value: words[4])
  case "get": print(try await driver.get(key: key, as: String.self) ?? "none")
  case "remove": try await driver.remove(key: key)
  default: exit(64)
  }
} catch let error as PersistError where error == .duplicate {
  print("duplicate")
}
// Exits without a shutdown, like a killed process.
